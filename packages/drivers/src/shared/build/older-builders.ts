import { findStage, type Dockerfile, type Instruction } from './dockerfile.ts';

/**
 * Returns a Dockerfile that builds the same image with builders that lack newer instructions: Podman before 4.9, and
 * the version of the syntax that Docker Engine 20.10 has built in. All lines keep their numbers. Pure.
 * - Stages after the target are left out: nothing can use them, but an older builder could not even read them.
 * - A here-document of a RUN becomes a string that its shell gets, as BuildKit gives it to the shell.
 * - `--link` is left out, which changes only what the cache can reuse.
 */
export function forOlderBuilders(content: string, dockerfile: Dockerfile, targetStage: string | null): string {
  const lines = content.split('\n');
  const hasShell = dockerfile.instructions.some(({ keyword }) => keyword === 'SHELL');
  for (const instruction of dockerfile.instructions) {
    const { line, lastLine, flags } = instruction;
    const from = line - 1;
    const command = hasShell ? null : runWithoutDocument(instruction);
    if (command !== null) lines.splice(from, lastLine - from, command, ...Array<string>(lastLine - line).fill(''));
    else if (flags.some(isLink)) lines[from] = lines[from]!.replace(/\s--link(=\S*)?(?=\s)/i, '');
  }
  const target = targetStage === null ? undefined : findStage(dockerfile, targetStage);
  const next = target && dockerfile.stages[target.index + 1];
  return next === undefined ? lines.join('\n') : `${lines.slice(0, next.line - 1).join('\n')}\n`;
}

function isLink(flag: string): boolean {
  return /^--link(=|$)/i.test(flag);
}

/** Returns a RUN with here-documents as one line without them; null for everything else. */
function runWithoutDocument({ keyword, flags, rest, document }: Instruction): string | null {
  if (keyword !== 'RUN' || document === null) return null;
  // A document without a command is the script itself. If it names its interpreter, only a file would do.
  const script = /^<<-?(["']?)[\w.]+\1$/.test(rest) ? document.split('\n').slice(0, -1).join('\n') : `${rest}\n${document}\n`;
  if (script.startsWith('#!')) return null;
  const unindented = rest.startsWith('<<-') ? script.replace(/^\t+/gm, '') : script;
  return ['RUN', ...flags, JSON.stringify(['/bin/sh', '-c', unindented])].join(' ');
}
