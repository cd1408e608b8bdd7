import { command } from '../command.ts';
import { misused } from '../errors.ts';

const shells = {
  bash: `_davit() {
  local IFS=$'\\n'
  COMPREPLY=($(davit __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _davit davit`,
  zsh: `#compdef davit
_davit() {
  local -a found
  found=("\${(@f)$(davit __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -a found
  [[ $#found -eq 0 || -z "$found[1]" ]] && _files
}
compdef _davit davit`,
  fish: `function __davit_complete
  set -l words (commandline -opc) (commandline -ct)
  davit __complete $words[2..-1] 2>/dev/null
end
complete -c davit -f -a '(__davit_complete)'`,
} as const;

export const completion = command<Readonly<Record<string, never>>>({
  brief: 'Print the script that completes commands and flags in your shell',
  examples: [
    ['bash >> ~/.bashrc', 'for bash'],
    ['zsh >> ~/.zshrc', 'for zsh, after compinit'],
    ['fish > ~/.config/fish/completions/davit.fish', 'for fish'],
  ],
  flags: {},
  arguments: [{ name: 'shell', brief: 'bash, zsh or fish', count: 'one' }],
  run: async (cli, _given, [shell = '']) => {
    if (shell !== 'bash' && shell !== 'zsh' && shell !== 'fish')
      throw misused(`There is no completion for ${shell}: bash, zsh or fish.`);
    cli.out.data(shells[shell]);
    return Promise.resolve();
  },
});
