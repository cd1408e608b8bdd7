import { findStage, type Dockerfile, type Instruction } from './dockerfile.ts';

/** Which newer parts of a Dockerfile a builder reads itself. */
export interface BuilderSyntax {
  readonly hereDocuments: boolean;
  readonly link: boolean;
}

/** The syntax of the builder that Docker Engine 20.10 has built in. */
export const oldestSyntax: BuilderSyntax = { hereDocuments: false, link: false };

/** Returns the syntax of a version of Podman, such as `5.6.0`. Pure. */
export function podmanSyntax(version: string): BuilderSyntax {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10) || 0);
  const isFrom = (wantedMajor: number, wantedMinor: number): boolean =>
    major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
  return { hereDocuments: isFrom(4, 9), link: isFrom(5, 6) };
}

/**
 * Returns a Dockerfile that builds the same image with builders that lack newer instructions: Podman, and the version
 * of the syntax that Docker Engine 20.10 has built in. All lines keep their numbers. Only what the builder could not
 * read changes, because a translation is never quite the same: a here-document runs with `/bin/sh`, even if the base
 * image names another shell. Pure.
 * - Stages after the target are left out: nothing can use them, but an older builder could not even read them.
 * - A here-document of a RUN becomes a string that its shell gets, as BuildKit gives it to the shell.
 * - `--link` is left out, which changes what the cache can reuse, and whether links in the target's path are followed.
 */
export function forOlderBuilders(
  content: string,
  dockerfile: Dockerfile,
  { targetStage, syntax }: { readonly targetStage: string | null; readonly syntax: BuilderSyntax },
): string {
  const lines = content.split('\n');
  const hasShell = dockerfile.instructions.some(({ keyword }) => keyword === 'SHELL');
  for (const instruction of dockerfile.instructions) {
    const { line, lastLine, flags } = instruction;
    const from = line - 1;
    const command = hasShell || syntax.hereDocuments ? null : runWithoutDocument(instruction);
    if (command !== null) {
      lines[from] = command;
      lines.fill('', line, lastLine);
    } else if (!syntax.link && flags.some(isLink)) {
      lines[from] = lines[from]!.replace(/\s--link(=\S*)?(?=\s)/, '');
    }
  }
  const target = targetStage === null ? undefined : findStage(dockerfile, targetStage);
  const next = target && dockerfile.stages[target.index + 1];
  return next === undefined ? lines.join('\n') : `${lines.slice(0, next.line - 1).join('\n')}\n`;
}

function isLink(flag: string): boolean {
  return /^--link(=|$)/.test(flag);
}

/** Returns a RUN with here-documents as one line without them; null for everything else. */
function runWithoutDocument({ keyword, flags, rest, document }: Instruction): string | null {
  if (keyword !== 'RUN' || document === null) return null;
  const script = scriptOf(rest, document);
  return script === null ? null : ['RUN', ...flags, JSON.stringify(['/bin/sh', '-c', script])].join(' ');
}

/** Returns the text that a shell gets; null if only a file would do, because the text names its interpreter. */
function scriptOf(rest: string, document: string): string | null {
  const [alone, dash] = /^\d*<<(-?)[^\s<]+$/.exec(rest) ?? [];
  // The shell itself knows the documents of a command.
  if (alone === undefined) return `${rest}\n${document}\n`;
  // A document without a command is the script itself.
  const script = document.split('\n').slice(0, -1).join('\n');
  if (script.startsWith('#!')) return null;
  return dash === '-' ? script.replace(/^\t+/gm, '') : script;
}
