import { generateHelpTextForAllCommands } from '@stricli/core';
import { application } from './program.ts';

/** Returns the help of all commands, by the words that call each, as `--help` shows it. */
export function helpOfCommands(): ReadonlyMap<string, string> {
  return new Map(
    generateHelpTextForAllCommands(application).map(([route, help]) => [
      route,
      help
        .split('\n')
        .map((line) => line.trimEnd())
        .join('\n')
        .trim(),
    ]),
  );
}
