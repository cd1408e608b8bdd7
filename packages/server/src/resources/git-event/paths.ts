/** Which changed files are a service's business. Paths are those of the repository. */
export interface PathFilter {
  /** As `/` or `/services/web`. */
  readonly rootPath: string;
  readonly match: readonly string[];
  readonly exclude: readonly string[];
}

/**
 * The files that count for a service: those that a MATCH covers, or without one those below `root_path`; never those that an
 * EXCLUDE covers.
 */
export function filesThatCount(files: readonly string[], { rootPath, match, exclude }: PathFilter): string[] {
  const wanted = match.length === 0 ? [rootPath] : match;
  return files.filter(
    (file) => wanted.some((pattern) => covers(pattern, file)) && !exclude.some((pattern) => covers(pattern, file)),
  );
}

/** Whether every file counts, so that nobody needs to ask which changed. */
export function takesAll({ rootPath, match, exclude }: PathFilter): boolean {
  return rootPath === '/' && match.length === 0 && exclude.length === 0;
}

/** A path covers the file of that name and all below it. `*` stands for anything within a name, `?` for one character, `**` for folders. */
export function covers(pattern: string, file: string): boolean {
  const names = file.split('/');
  // How many names of the file the pattern may have used up so far. Not a regular expression: users write patterns, and some of those
  // take for ever.
  let used: readonly number[] = [0];
  for (const part of pattern.split('/').filter((one) => one !== '' && one !== '.')) {
    const least = used[0];
    if (least === undefined) return false;
    used =
      part === '**'
        ? Array.from({ length: names.length - least + 1 }, (_one, index) => least + index)
        : used.filter((count) => fits(part, names[count] ?? null)).map((count) => count + 1);
  }
  return used.length > 0;
}

/** Whether a name is what a part of a pattern says. */
function fits(part: string, name: string | null): boolean {
  if (name === null) return false;
  let at = 0;
  let index = 0;
  // Where the latest star stands, and up to where it has taken the name.
  let star = -1;
  let taken = 0;
  while (index < name.length) {
    if (part[at] === '*') {
      star = at;
      taken = index;
      at += 1;
    } else if (part[at] === '?' || (at < part.length && part[at] === name[index])) {
      at += 1;
      index += 1;
    } else if (star >= 0) {
      taken += 1;
      at = star + 1;
      index = taken;
    } else return false;
  }
  while (part[at] === '*') at += 1;
  return at === part.length;
}
