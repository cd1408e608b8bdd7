import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'oxc-parser';
import { importRules, isTest } from './import-rules.ts';
import { readImports, type Import, type ImportGraph, type Sources, type Workspace } from './imports.ts';

export interface Violation {
  readonly rule: string;
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** Checks the imports of the given files against all rules. The function is pure: it works on the given texts alone. */
export function findViolations(
  sources: Sources,
  workspaces: readonly Workspace[],
  rootDependencies: readonly string[],
): Violation[] {
  const graph = readImports(sources, workspaces);
  return [
    ...graph.problems.map((problem) => ({ rule: 'resolves', ...problem })),
    ...graph.imports.flatMap(brokenRules),
    ...graph.imports.flatMap((use) => undeclared(use, workspaces, rootDependencies)),
    ...cycles(graph),
    ...folderCycles(graph),
    ...impurities(graph, sources),
    ...kindsElsewhere(sources),
    ...timersElsewhere(sources),
  ].sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
}

function brokenRules(use: Import): Violation[] {
  return importRules
    .filter((rule) => rule.applies(use.from) && !rule.allows(use.target, use))
    .flatMap((rule) => {
      const refused = use.definers.filter((definer) => !rule.allows(definer, use));
      if (use.definers.length > 0 && refused.length === 0) return [];
      const where = refused.length === 0 || refused.includes(use.target) ? '' : ` (${refused.join(', ')})`;
      return [{ rule: rule.name, file: use.from, line: use.line, message: `imports ${use.specifier}${where}: ${rule.because}` }];
    });
}

// npm installs all packages into one folder. An undeclared import works there until no other workspace needs the
// package.
function undeclared(use: Import, workspaces: readonly Workspace[], rootDependencies: readonly string[]): Violation[] {
  const own = workspaces.find(({ folder }) => use.from.startsWith(`${folder}/`));
  const neighbour = workspaces.find(({ folder }) => use.target.startsWith(`${folder}/`) && !use.specifier.startsWith('.'));
  const name = use.target.startsWith('npm:') ? use.target.slice('npm:'.length) : neighbour?.name;
  if (name === undefined || name === own?.name) return [];
  // Tests use the tools of the checkout and the testkit, which depends on nearly all packages.
  const known = own === undefined || isTest(use.from) ? [...(own?.dependencies ?? []), ...rootDependencies] : own.dependencies;
  if (known.includes(name) || (neighbour !== undefined && (own === undefined || isTest(use.from)))) return [];
  return [
    {
      rule: 'declared',
      file: use.from,
      line: use.line,
      message: `imports ${name}, which ${own?.folder ?? 'the root'}/package.json does not declare`,
    },
  ];
}

/**
 * Returns one violation per cycle, reported at the first of its files by name. Type-only imports count too: files that
 * need each other's types can only be read together.
 */
function cycles({ imports }: ImportGraph): Violation[] {
  const uses = imports.filter((use) => !isTest(use.from));
  return cyclesOf(uses.map((use) => ({ from: use.from, to: use.target, use }))).map(({ nodes }) => ({
    rule: 'no-cycles',
    file: nodes[0] ?? '',
    line: 1,
    message: `is in a cycle: ${nodes.join(' → ')}`,
  }));
}

/** Source folders whose subfolders may not import each other in a circle; `types`: not even their types. */
const foldersWithoutCycles: readonly { readonly root: string; readonly types: boolean }[] = [
  { root: 'packages/engine/src/', types: false },
  { root: 'packages/server/src/', types: true },
  { root: 'packages/server/src/resources/', types: true },
  { root: 'packages/server/src/resources/service/', types: true },
  { root: 'packages/drivers/src/', types: true },
  { root: 'packages/drivers/src/kubernetes/', types: false },
];

/**
 * Returns one violation per circle of subfolders. A file directly in the source folder counts as a subfolder of its
 * own.
 */
function folderCycles({ imports }: ImportGraph): Violation[] {
  return foldersWithoutCycles.flatMap(({ root, types }) => {
    const subfolderOf = (file: string): string => file.slice(root.length).split('/')[0] ?? '';
    const arrows = imports
      .filter(({ isTypeOnly }) => types || !isTypeOnly)
      .filter(({ from, target }) => !isTest(from) && from.startsWith(root) && target.startsWith(root))
      .map((use) => ({ from: subfolderOf(use.from), to: subfolderOf(use.target), use }))
      .filter(({ from, to }) => from !== to);
    // A circle of files without subfolders is reported by `no-cycles`.
    const found = cyclesOf(arrows).filter(({ nodes }) => nodes.some((node) => !node.endsWith('.ts')));
    return found.map(({ nodes, closing: { from, line, specifier } }) => ({
      rule: 'no-folder-cycles',
      file: from,
      line,
      message: `imports ${specifier}, which closes a cycle of folders: ${nodes.join(' → ')}`,
    }));
  });
}

interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly use: Import;
}

/**
 * Returns the cycles of a graph, each with the import that closes it. Each list begins and ends with the node that is
 * first by name.
 */
function cyclesOf(arrows: readonly Arrow[]): { readonly nodes: readonly string[]; readonly closing: Import }[] {
  const arrowsOf = Map.groupBy(arrows, ({ from }) => from);
  const state = new Map<string, 'open' | 'done'>();
  const found: { nodes: readonly string[]; closing: Import }[] = [];
  const visit = (node: string, chain: readonly string[]): void => {
    state.set(node, 'open');
    for (const { to, use } of arrowsOf.get(node) ?? []) {
      const path = [...chain, node];
      if (state.get(to) === 'open') found.push({ nodes: [...path.slice(path.indexOf(to)), to], closing: use });
      else if (state.get(to) === undefined) visit(to, path);
    }
    state.set(node, 'done');
  };
  for (const node of [...arrowsOf.keys()].sort()) if (state.get(node) === undefined) visit(node, []);
  return found;
}

const isPlanning = (file: string): boolean =>
  /^packages\/engine\/src\/(plan\/|states\.ts$|kinds\/[^/]+\/(plan|repair)\.ts$)/.test(file) && !isTest(file);
const impureNames = new Set(['Date', 'performance', 'process', 'fetch', 'setTimeout', 'setInterval', 'setImmediate', 'console']);

// Planning is a pure function: callers pass all the data that it needs. The same applies to every function that it
// calls.
function impurities({ imports }: ImportGraph, sources: Sources): Violation[] {
  const usesOf = Map.groupBy(
    imports.filter(({ isTypeOnly }) => !isTypeOnly),
    ({ from }) => from,
  );
  const reachable = new Set([...sources.keys()].filter(isPlanning));
  const found: Violation[] = [];
  for (const file of reachable) {
    found.push(...impureWords(file, sources.get(file) ?? ''));
    for (const use of usesOf.get(file) ?? []) {
      for (const definer of use.definers.length > 0 ? use.definers : [use.target]) {
        if (isImpureTarget(definer)) {
          found.push({
            rule: 'pure-planning',
            file,
            line: use.line,
            message: `imports ${use.specifier}: planning sees no clock, disk, network or SQL`,
          });
        } else if (definer.startsWith('packages/engine/')) reachable.add(definer);
      }
    }
  }
  return found;
}

/** Code that compares the kind of a service itself instead of asking the kind. */
const asksForKind = new RegExp(
  [
    String.raw`\b(serviceType|service_type|source\.type)\s*[!=]==`,
    String.raw`\.job\s*[!=]==\s*undefined`,
    String.raw`\bcase '(HELM|TERRAFORM|GIT|IMAGE|PROCESS|CHART)'`,
    // The names of kinds, compared or as the keys of a table.
    String.raw`\b[kK]ind\w*(\.of\w*)?(\(.*\))?\.name\s*[!=]==`,
    String.raw`[!=]==\s*'(PROCESS|JOB|CHART|TERRAFORM|HELM)'`,
    String.raw`\bKind\['name'\]`,
  ].join('|'),
);
// Kinds that run an image share its sources.
const mayAskForKind = (file: string): boolean =>
  !file.startsWith('packages/engine/src/') ||
  file.startsWith('packages/engine/src/kinds/') ||
  file === 'packages/engine/src/workload/image-source.ts' ||
  isTest(file);

/**
 * Reports code outside the engine's `kinds/` that distinguishes kinds of services: adding a kind must only need a
 * folder in `kinds/`.
 */
function kindsElsewhere(sources: Sources): Violation[] {
  return [...sources].flatMap(([file, text]) =>
    mayAskForKind(file)
      ? []
      : text.split('\n').flatMap((line, index) =>
          asksForKind.test(line)
            ? [
                {
                  rule: 'kinds',
                  file,
                  line: index + 1,
                  message: 'asks for the kind of a service: that is a fact of engine/src/kinds',
                },
              ]
            : [],
        ),
  );
}

/** Files with intervals of their own, each with the reason. */
const mayRepeat: Readonly<Record<string, string>> = {
  'packages/base/src/loop.ts': 'the loop itself',
  'packages/db/src/connection.ts': 'a question with a limit of its own; its failure ends the connection',
  'packages/db/src/embedded.ts': 'the watch begins and ends again, and stop waits for a restart but begins none',
  'packages/db/src/pool.ts': 'a sweep that waits for nothing',
  'packages/db/src/watch.ts': 'counts looks, also while a question to the server is open',
  'packages/drivers/src/gateway/gateway.ts': 'its work queues behind the changes of routes, which wait for each other',
  'packages/drivers/src/kubernetes/lifecycle/pods-that-end.ts': 'works without waiting, for as long as one removal',
  'packages/drivers/src/source/git-watch.ts': 'works without waiting, for as long as one process',
  'packages/engine/src/output/log-collector.ts': 'one statement a day, for as long as one instance is followed',
  'packages/engine/src/run/runner.ts': 'renewals of leases overlap: one that hangs must not keep the next from renewing',
  'packages/engine/src/scaling/scaler.ts': 'looks whether one change of instances is still wanted, while that runs',
  'packages/server/src/http/idle-connections.ts': 'a sweep that waits for nothing, while the server closes',
  'packages/server/src/resources/stream/hub.ts': 'ticks only while streams follow, and readers need the failure of their read',
};

/** Reports intervals outside of base's Loop, which knows overlap, wakes, failures and the stop. */
function timersElsewhere(sources: Sources): Violation[] {
  return [...sources].flatMap(([file, text]) =>
    !/^packages\/[^/]+\/src\//.test(file) || isTest(file) || mayRepeat[file] !== undefined
      ? []
      : text
          .split('\n')
          .flatMap((line, index) =>
            /\bsetInterval\(/.test(line)
              ? [{ rule: 'loops', file, line: index + 1, message: 'uses setInterval: repeated work is a Loop of @davit/base' }]
              : [],
          ),
  );
}

// Hashing must depend on its input alone.
function isImpureTarget(target: string): boolean {
  return (/^(node|npm):/.test(target) && target !== 'node:crypto') || target.startsWith('packages/db/');
}

function impureWords(file: string, text: string): Violation[] {
  const found: Violation[] = [];
  const report = (word: string, offset: number): void => {
    const line = text.slice(0, offset).split('\n').length;
    found.push({ rule: 'pure-planning', file, line, message: `uses ${word}: planning sees no clock, disk, network or SQL` });
  };
  new Visitor({
    Identifier: ({ name, start }) => {
      if (impureNames.has(name)) report(name, start);
    },
    MemberExpression: ({ object, property, start }) => {
      if (object.type === 'Identifier' && object.name === 'Math' && 'name' in property && property.name === 'random')
        report('Math.random', start);
    },
  }).visit(parseSync(file, text).program);
  return found;
}

interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
}

/** Checks this checkout. */
export function checkImports(): Violation[] {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const files = globSync(['packages/*/src/**/*.{ts,tsx}', 'e2e/**/*.ts', 'bench/**/*.ts', 'tools/**/*.ts'], { cwd: root });
  const sources = new Map(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));
  const workspaces = globSync('packages/*/package.json', { cwd: root }).map((file) => {
    const manifest = readManifest(path.join(root, file));
    return {
      name: manifest.name,
      folder: path.dirname(file),
      exports: manifest.exports ?? {},
      dependencies: Object.keys({
        ...manifest.dependencies,
        ...manifest.optionalDependencies,
        // A package that is built needs its dependencies while it is built, and not where Davit runs.
        ...(manifest.scripts?.['build'] === undefined ? {} : manifest.devDependencies),
      }),
    };
  });
  const rootManifest = readManifest(path.join(root, 'package.json'));
  return findViolations(sources, workspaces, Object.keys({ ...rootManifest.dependencies, ...rootManifest.devDependencies }));
}

function readManifest(file: string): Manifest {
  const manifest: Manifest = JSON.parse(readFileSync(file, 'utf8'));
  return manifest;
}
