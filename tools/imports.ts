import { isBuiltin } from 'node:module';
import path from 'node:path';
import { parseSync, Visitor, type StaticExportEntry, type StaticImportEntry } from 'oxc-parser';

/** The source files to check: path relative to the checkout → text. */
export type Sources = ReadonlyMap<string, string>;

/** The workspaces' package.json files: name of the folder under packages/, without scope → exports. */
export interface Workspace {
  /** The name of the package, for example `@davit/engine`. */
  readonly name: string;
  /** The folder, for example `packages/engine`. */
  readonly folder: string;
  /** The exports: `.`, `./port` or `./*` → `./src/port.ts`. */
  readonly exports: Readonly<Record<string, string>>;
  /** The names of the declared dependencies. */
  readonly dependencies: readonly string[];
}

export interface Import {
  readonly from: string;
  /** The specifier as written in the import. */
  readonly specifier: string;
  /** The imported file as a path of the checkout, or `node:fs` or `npm:fastify`. */
  readonly target: string;
  /** The files that define the imported names. They differ from `target` if the target only re-exports the names. */
  readonly definers: readonly string[];
  /** The imported names as the target exports them; `*` for all of them. */
  readonly names: readonly string[];
  readonly isTypeOnly: boolean;
  readonly line: number;
}

export interface ImportGraph {
  readonly imports: readonly Import[];
  /** Imports of files that do not exist, and files that cannot be parsed. */
  readonly problems: readonly { readonly file: string; readonly line: number; readonly message: string }[];
}

const everything = '*';

interface Module {
  readonly imports: readonly RawImport[];
  readonly reexports: readonly StaticExportEntry[];
  readonly definedNames: ReadonlySet<string>;
  readonly error: string | undefined;
}

interface RawImport {
  readonly specifier: string;
  readonly names: readonly string[];
  readonly isTypeOnly: boolean;
  readonly line: number;
}

/** Reads the imports of all files. The function is pure: it works on the given texts alone. */
export function readImports(sources: Sources, workspaces: readonly Workspace[]): ImportGraph {
  const modules = new Map([...sources].map(([file, text]) => [file, parseModule(file, text)]));
  const imports: Import[] = [];
  const problems: { file: string; line: number; message: string }[] = [];
  for (const [file, module] of modules) {
    if (module.error !== undefined) problems.push({ file, line: 1, message: module.error });
    for (const { specifier, names, isTypeOnly, line } of module.imports) {
      // Styles are for the bundler, and data imports nothing. The compiler checks that the data exists.
      if (/\.(css|json)$/.test(specifier)) continue;
      const target = resolve(file, specifier, workspaces);
      if (isOurs(target) && !sources.has(target)) {
        problems.push({ file, line, message: `imports ${specifier}, which does not exist` });
        continue;
      }
      const definers = new Set(names.flatMap((name) => findDefiners(target, name, { modules, workspaces, seen: new Set() })));
      imports.push({ from: file, specifier, target, definers: [...definers], names, isTypeOnly, line });
    }
  }
  return { imports, problems };
}

function parseModule(file: string, text: string): Module {
  const { module, program, errors } = parseSync(file, text);
  const lineOf = (offset: number): number => text.slice(0, offset).split('\n').length;
  const imports: RawImport[] = module.staticImports.map(({ moduleRequest, entries, start }) => ({
    specifier: moduleRequest.value,
    names: entries.length === 0 ? [everything] : entries.map(importedName),
    isTypeOnly: entries.length > 0 && entries.every(({ isType }) => isType),
    line: lineOf(start),
  }));
  for (const { moduleRequest, start } of module.dynamicImports) {
    const literal = /^(['"`])([^'"`$]*)\1$/.exec(text.slice(moduleRequest.start, moduleRequest.end));
    // A computed specifier cannot be resolved and is ignored.
    if (literal?.[2] !== undefined) {
      imports.push({ specifier: literal[2], names: [everything], isTypeOnly: false, line: lineOf(start) });
    }
  }
  if (mayImportTypesInline(text)) {
    new Visitor({
      TSImportType: ({ source, qualifier, start }) => {
        const names = qualifier?.type === 'Identifier' ? [qualifier.name] : [everything];
        imports.push({ specifier: source.value, names, isTypeOnly: true, line: lineOf(start) });
      },
    }).visit(program);
  }
  const reexports = module.staticExports.flatMap(({ entries }) => entries).filter(({ moduleRequest }) => moduleRequest !== null);
  for (const entry of reexports) {
    const name = importedName(entry);
    imports.push({
      specifier: entry.moduleRequest?.value ?? '',
      names: [name],
      isTypeOnly: entry.isType,
      line: lineOf(entry.start),
    });
  }
  const own = module.staticExports.flatMap(({ entries }) => entries).filter(({ moduleRequest }) => moduleRequest === null);
  const definedNames = new Set(own.map(({ exportName }) => exportName.name ?? 'default'));
  return { imports, reexports, definedNames, error: errors[0]?.message };
}

/** Returns whether a text may contain types such as `import('./driver.ts').Driver`. Most files need not be searched. */
const mayImportTypesInline = (text: string): boolean => text.includes('import(');

function importedName({ importName }: StaticImportEntry | StaticExportEntry): string {
  const kind: string = importName.kind;
  if (kind === 'Default') return 'default';
  return importName.name ?? everything;
}

function resolve(from: string, specifier: string, workspaces: readonly Workspace[]): string {
  if (specifier.startsWith('.')) return path.posix.join(path.posix.dirname(from), specifier);
  if (isBuiltin(specifier)) return specifier.startsWith('node:') ? specifier : `node:${specifier}`;
  const workspace = workspaces.find(({ name }) => specifier === name || specifier.startsWith(`${name}/`));
  if (workspace === undefined) return `npm:${packageName(specifier)}`;
  const subpath = specifier.slice(workspace.name.length);
  const every = workspace.exports['./*'];
  const door = workspace.exports[`.${subpath}`] ?? (subpath === '' ? undefined : every?.replace('*', subpath.slice(1)));
  return path.posix.join(workspace.folder, door ?? `missing-export${subpath}`);
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function isOurs(target: string): boolean {
  return !target.startsWith('npm:') && !target.startsWith('node:');
}

interface Search {
  readonly modules: ReadonlyMap<string, Module>;
  readonly workspaces: readonly Workspace[];
  readonly seen: Set<string>;
}

/** Returns the files that define this name for importers of `file`; empty if no file defines the name. */
function findDefiners(file: string, name: string, search: Search): string[] {
  const module = search.modules.get(file);
  // The target is a foreign package or a module of Node.
  if (module === undefined) return [file];
  if (search.seen.has(`${file} ${name}`)) return [];
  search.seen.add(`${file} ${name}`);
  const follow = (entry: StaticExportEntry, wanted: string): string[] =>
    findDefiners(resolve(file, entry.moduleRequest?.value ?? '', search.workspaces), wanted, search);
  if (name === everything) return [file, ...module.reexports.flatMap((entry) => follow(entry, importedName(entry)))];
  if (module.definedNames.has(name)) return [file];
  const named = module.reexports.find(({ exportName }) => exportName.name === name);
  if (named !== undefined) return follow(named, importedName(named));
  return module.reexports.filter(({ exportName }) => exportName.name === null).flatMap((entry) => follow(entry, name));
}
