import { generateHelpTextForAllCommands, type Application, type CommandContext } from '@stricli/core';
import { application } from './program.ts';

/** Returns the help of all commands, by the words that call each, as `--help` shows it. */
export function helpOfCommands(): ReadonlyMap<string, string> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- no command runs, so that its context does not matter
  const all = application as unknown as Application<CommandContext>;
  return new Map(
    generateHelpTextForAllCommands(all).map(([route, help]) => [
      route,
      help
        .split('\n')
        .map((line) => line.trimEnd())
        .join('\n')
        .trim(),
    ]),
  );
}
