# Completion of hilo for bash, as printed by: hilo completion bash

_hilo() {
  local current=${COMP_WORDS[COMP_CWORD]} word words=() IFS=$'\n'
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == = ]] || words+=("$word") # bash takes --output=json for three words
  done
  [[ $current == = ]] && current=''
  COMPREPLY=($(hilo __complete "${words[@]}" "$current" 2>/dev/null))
  if [[ ${COMPREPLY[0]} == :files ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$current"))
  else # what follows a tab says what the word does
    COMPREPLY=($(compgen -W "${COMPREPLY[*]%%$'\t'*}" -- "$current"))
  fi
}

complete -F _hilo hilo
