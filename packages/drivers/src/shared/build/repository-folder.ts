import type { Dockerfile, Instruction } from './dockerfile.ts';

/** Git commands in an instruction that read the history of a repository. */
const gitCommand = /\bgit\s+(?:-[cC]\s+\S+\s+|-\S+\s+)*(?:rev-parse|describe|log|rev-list|show|status|branch|submodule)\b/;

/** Advice for a build that needs `.git`. */
export const withoutRepository =
  'Builds get the files of the commit without .git: it differs from checkout to checkout, so that nothing would be cached, and it can hold ' +
  'credentials. Pass what you need of it as an argument (ARG, and a variable of the service), or write it to a file of the repository in your pipeline.';

/** Returns the first instruction that copies `.git` or runs git on it; null if there is none. */
export function wantsRepository(dockerfile: Dockerfile): Instruction | null {
  return dockerfile.instructions.find((instruction) => copiesRepository(instruction) || asksGit(instruction)) ?? null;
}

/** Returns whether an instruction copies `.git`, or something inside it, from the context. */
export function copiesRepository({ keyword, flags, rest }: Pick<Instruction, 'keyword' | 'flags' | 'rest'>): boolean {
  if (keyword !== 'COPY' && keyword !== 'ADD') return false;
  if (flags.some((flag) => flag.startsWith('--from'))) return false;
  return /(?:^|[\s["'])(?:\.?\/)*\.git(?:\/|["'\s,]|$)/.test(rest);
}

// Excludes instructions that clone a repository, as the clone creates its own `.git`.
function asksGit({ keyword, rest }: Instruction): boolean {
  return keyword === 'RUN' && gitCommand.test(rest) && !/\bgit\s+(?:clone|init)\b/.test(rest);
}
