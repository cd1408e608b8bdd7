/** Selects the changed files that concern a service. Paths are relative to the repository. */
export interface PathFilter {
  /** Such as `/` or `/services/web`. */
  readonly rootPath: string;
  readonly match: readonly string[];
  readonly exclude: readonly string[];
}

/**
 * Returns the files that count for a service. These are the files that a MATCH covers, or if there is no MATCH the
 * files below `root_path`. Files that an EXCLUDE covers never count.
 */
export function filesThatCount(files: readonly string[], { rootPath, match, exclude }: PathFilter): string[] {
  const wanted = match.length === 0 ? [rootPath] : match;
  return files.filter(
    (file) => wanted.some((pattern) => covers(pattern, file)) && !exclude.some((pattern) => covers(pattern, file)),
  );
}

/** Returns whether every file counts, so that the changed files need not be requested. */
export function takesAll({ rootPath, match, exclude }: PathFilter): boolean {
  return rootPath === '/' && match.length === 0 && exclude.length === 0;
}

/**
 * Returns whether a path covers a file: the file of that name and everything below it. `*` stands for any characters
 * within a name, `?` for one character, `**` for folders.
 */
export function covers(pattern: string, file: string): boolean {
  const names = file.split('/');
  // The numbers of names of the file that the pattern may have consumed so far. This is not a regular expression,
  // because users write the patterns, and some regular expressions never finish.
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

/** Returns whether a name matches a part of a pattern. */
function fits(part: string, name: string | null): boolean {
  if (name === null) return false;
  let at = 0;
  let index = 0;
  // The position of the latest star, and the position in the name up to which it has matched.
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
