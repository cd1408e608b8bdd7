import type { Folder } from './detected.ts';

/** Names the registry, as not every builder has a default one. */
export const library = 'docker.io/library';

/** Returns a command in the form that receives signals itself. Variables need a shell that replaces them. */
export function command(text: string): string {
  const words = text.includes('$') ? ['sh', '-c', `exec ${text}`] : text.split(' ');
  return `[${words.map((word) => JSON.stringify(word)).join(', ')}]`;
}

/** Returns the line that installs packages of Debian; an empty text if there is none. */
export function debianPackages(names: readonly string[]): string {
  if (names.length === 0) return '';
  const install = `apt-get install -y --no-install-recommends ${names.join(' ')}`;
  return `RUN apt-get update && ${install} && rm -rf /var/lib/apt/lists/*\n`;
}

/** Returns the part of an INI or TOML text below a header, up to the next one; an empty text if there is none. */
export function sectionOf(text: string, header: string): string {
  const lines = text.split(/\r?\n/);
  const start = lines.findIndex((line) => line.trim() === header);
  if (start === -1) return '';
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => /^\s*\[/.test(line));
  return (end === -1 ? rest : rest.slice(0, end)).join('\n');
}

/** Folders that programs read when they run, and that are not part of what a compiler makes. */
const readAtRunTime = ['assets', 'config', 'migrations', 'public', 'static', 'templates', 'views', 'web'];

/** Returns the folders beside a compiled program that it may read. Those that are not sent are left out. */
export async function dataFolders(folder: Folder, names: readonly string[]): Promise<string> {
  const rules = await Promise.all(['.gitignore', '.dockerignore'].map((file) => folder.read(file)));
  const ignored = new Set(
    rules.flatMap((text) => (text ?? '').split('\n').map((line) => line.trim().replaceAll(/^\/|\/$/g, ''))),
  );
  return readAtRunTime
    .filter((one) => !ignored.has(one) && names.some((name) => name.startsWith(`${one}/`) && !/\.(go|rs)$/.test(name)))
    .join(' ');
}

/**
 * Returns the one of several programs that answers requests: by its name, otherwise the first of those that listen
 * somewhere, otherwise the first of all.
 */
export function likeliest(programs: readonly string[], listening: readonly string[] = []): string | undefined {
  const usual = /(?:^|[/_-])(server|api|web|app|http|main|backend)(?:[/_.-]|$)/;
  return programs.find((name) => usual.test(name)) ?? listening[0] ?? programs[0];
}
