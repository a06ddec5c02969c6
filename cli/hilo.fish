# Completion of hilo for fish, as printed by: hilo completion fish

function __hilo
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l flag (string match -r -- '^-.*?=' "$current")
    set -l found (hilo __complete $words[2..-1] "$current" 2>/dev/null)
    if test "$found" = :files
        set found (__fish_complete_path (string replace -- "$flag" '' "$current"))
    end
    for word in $found
        echo -- "$flag$word"
    end
end

complete -c hilo -f -a '(__hilo)'
