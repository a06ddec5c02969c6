#compdef hilo
# Completion of hilo for zsh, as printed by: hilo completion zsh

_hilo() {
  local -a found
  found=(${(f)"$(hilo __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  [[ $words[CURRENT] == -*=* ]] && compset -P '*='
  if [[ $found == :files ]]; then
    _files
  else # what follows a tab says what the word does, and a colon does the same for zsh
    found=("${(@)found//:/\\:}")
    found=("${(@)found/$'\t'/:}")
    _describe hilo found
  fi
}

if [[ $funcstack[1] == _hilo ]]; then # from a file of this name in fpath
  _hilo "$@"
else # by source
  compdef _hilo hilo
fi
