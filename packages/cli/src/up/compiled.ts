import path from 'node:path';
import type { Detected, Finder, Folder } from './detected.ts';
import { dataFolders, debianPackages, library, likeliest, sectionOf } from './lines.ts';

/** The release of Debian that both stages of a program have, so that it finds the same libraries. */
const debian = 'trixie';

/** Returns the stage that runs a program that was built in the stage `build`. */
function binaryStage(
  program: string,
  port: number,
  { data = '', packages = '', variables = '' }: Readonly<Record<string, string>>,
): string {
  const folders = data.split(' ').flatMap((one) => (one === '' ? [] : `COPY ${one} ./${one}\n`));
  const libraries =
    packages === ''
      ? 'COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/\n'
      : debianPackages(['ca-certificates', ...packages.split(' ')]);
  return `FROM ${library}/debian:${debian}-slim
${libraries}WORKDIR /app
${folders.join('')}COPY --from=build ${program} /usr/local/bin/app
ENV PORT=${port}${variables === '' ? '' : ` ${variables}=${port}`}
USER nobody
EXPOSE ${port}
CMD ["app"]`;
}

export const go: Finder = async (folder, names) => {
  const [module, workspace] = [await folder.read('go.mod'), await folder.read('go.work')];
  const text = workspace ?? module;
  if (text === null) return null;
  const program = await goProgram(folder, names, { module: module ?? '', isWorkspace: workspace !== null });
  if (program === undefined) return null;
  // The image has one toolchain, which must not be older than the files ask for.
  const wanted = [...text.matchAll(/^(?:go |toolchain go)(\d+)\.(\d+)/gm)].map(
    ([, major, minor]) => Number(major) * 1000 + Number(minor),
  );
  const newest = Math.max(0, ...wanted);
  const isVendored = (await folder.read('vendor/modules.txt')) !== null;
  const needsAll = workspace !== null || isVendored || /=>\s*\.{0,2}\//.test(text);
  const needsC = program.importsC || /mattn\/go-sqlite3|confluent-kafka-go/.test(module ?? '');
  const facts = {
    main: program.at === '.' ? '.' : `./${program.at}`,
    at: program.at,
    files: needsAll ? '' : `go.mod${names.includes('go.sum') ? ' go.sum' : ''}`,
    cgo: needsC ? '1' : '0',
    data: await dataFolders(folder, names),
  };
  const version = newest < 1021 ? null : `${Math.floor(newest / 1000)}.${newest % 1000}`;
  return { language: 'Go', because: workspace === null ? 'go.mod' : 'go.work', version, facts };
};

interface GoProgram {
  /** The folder of its package; "." is the folder itself. */
  readonly at: string;
  readonly importsC: boolean;
}

/** Returns the program of the folder itself, or the likeliest one below it; undefined if there is none. */
async function goProgram(
  folder: Folder,
  names: readonly string[],
  { module, isWorkspace }: { readonly module: string; readonly isWorkspace: boolean },
): Promise<GoProgram | undefined> {
  // Folders with a go.mod of their own are other modules, which only a workspace joins.
  const others = isWorkspace ? [] : names.flatMap((name) => /^(.+\/)go\.mod$/.exec(name)?.[1] ?? []);
  const sources = names.filter(
    (name) => name.endsWith('.go') && !name.endsWith('_test.go') && !others.some((at) => name.startsWith(at)),
  );
  const texts = await Promise.all(sources.map(async (name) => ({ name, text: (await folder.read(name)) ?? '' })));
  // Generators say that no build takes them.
  const mains = texts.filter(({ text }) => /^package main\b/m.test(text) && !/^\/\/(?:go:build| ?\+build) ignore\b/m.test(text));
  const programs = [...new Set(mains.map(({ name }) => path.posix.dirname(name)))];
  const at = programs.includes('.') ? '.' : likeliestGo(programs, mains, module);
  return at === undefined ? undefined : { at, importsC: texts.some(({ text }) => /^\s*(?:import )?"C"\s*$/m.test(text)) };
}

function likeliestGo(
  programs: readonly string[],
  mains: readonly { readonly name: string; readonly text: string }[],
  module: string,
): string | undefined {
  const usual = programs.filter((one) => /^cmd(\/|$)/.test(one));
  const folders = usual.length > 0 ? usual : programs.filter((one) => !/^(_?examples?|scripts|tools|hack|docs)(\/|$)/.test(one));
  const ofModule = /^module\s+(\S+)/m
    .exec(module)?.[1]
    ?.replace(/\/v\d+$/, '')
    .split('/')
    .at(-1);
  const serving = folders.filter((at) =>
    mains.some(
      ({ name, text }) => path.posix.dirname(name) === at && /ListenAndServe|net\.Listen\(|\.(?:Run|Listen|Start)\(/.test(text),
    ),
  );
  return folders.find((one) => path.posix.basename(one) === ofModule) ?? likeliest(folders, serving);
}

export function goFile({ version, port, facts }: Detected): string {
  const { main = '.', files = '', cgo = '0' } = facts;
  const fetching =
    files === '' ? '' : `# Modules are fetched again only when these files change.\nCOPY ${files} ./\nRUN go mod download\n`;
  return `FROM ${library}/golang:${version ?? '1.25'} AS build
WORKDIR /src
${fetching}COPY . .
# The program contains the time zones, and no paths of this stage.
RUN CGO_ENABLED=${cgo} go build -trimpath -ldflags=-s -tags timetzdata -o /app ${main}

${binaryStage('/app', port, facts)}`;
}

/** Packages of Debian with the libraries that crates load. The image of Rust has what they are built with. */
const rustLibraries: Readonly<Record<string, string>> = {
  'openssl-sys': 'libssl3t64',
  'pq-sys': 'libpq5',
  'mysqlclient-sys': 'libmariadb3',
  'libsqlite3-sys': 'libsqlite3-0',
};

export const rust: Finder = async (folder, names) => {
  const text = await folder.read('Cargo.toml');
  if (text === null) return null;
  // The package of the folder itself may be a library, with programs beside it in the workspace.
  const own = crateOf(text, '', names);
  const member = own === null || own.binaries.length === 0 ? await rustMember(folder, names) : own;
  if (member === null) return null;
  const { crate, at, binaries, preferred } = member;
  const binary = preferred ?? (binaries.includes(crate) ? crate : likeliest(binaries));
  if (binary === undefined) return null;
  const lock = (await folder.read('Cargo.lock')) ?? text;
  const packages = Object.entries(rustLibraries).flatMap(([name, library_]) => (lock.includes(`"${name}"`) ? library_ : []));
  // Settings of Cargo may name vendored crates, which are part of the folder.
  const settings = (await folder.read('.cargo/config.toml')) ?? (await folder.read('.cargo/config'));
  const isPlain =
    at === '' &&
    settings === null &&
    names.includes('src/main.rs') &&
    !names.includes('build.rs') &&
    !/\[\[|\[workspace|\bpath\s*=|\bbuild\s*=|\bdefault-run\s*=/.test(text);
  const files = ['Cargo.toml', 'Cargo.lock', 'rust-toolchain.toml', 'rust-toolchain'].filter((name) => names.includes(name));
  const facts = {
    binary,
    at,
    locked: names.includes('Cargo.lock') ? ' --locked' : '',
    member: at === '' ? '' : ` --package ${crate}`,
    files: isPlain ? files.join(' ') : '',
    sources: names.includes('src/lib.rs') ? 'src/main.rs src/lib.rs' : 'src/main.rs',
    target: /^\s*target\s*=\s*"([\w-]+)"/m.exec(sectionOf(settings ?? '', '[build]'))?.[1] ?? '',
    // Rocket listens on the loopback interface only, unless a variable says otherwise.
    variables: /^rocket\b/m.test(member.text) ? 'ROCKET_ADDRESS=0.0.0.0 ROCKET_PORT' : '',
    packages: packages.join(' '),
    data: await dataFolders(folder, names),
  };
  // `rust-version` is the oldest compiler that works: the newest one does too, or gets what rust-toolchain.toml names.
  return { language: 'Rust', because: 'Cargo.toml', version: null, facts };
};

/** A package of Cargo, with the programs that it has. */
interface Crate {
  readonly text: string;
  readonly crate: string;
  readonly at: string;
  readonly binaries: readonly string[];
  /** The program that the file itself names. */
  readonly preferred: string | undefined;
}

/** Returns the package of a Cargo.toml in the folder `at`; null if the file has none. */
function crateOf(text: string, at: string, names: readonly string[]): Crate | null {
  const nameIn = (section: string): string | undefined => /^\s*name\s*=\s*"([^"]+)"/m.exec(section)?.[1];
  const crate = nameIn(sectionOf(text, '[package]'));
  if (crate === undefined) return null;
  const stated = text
    .split(/^\s*\[\[bin\]\]/m)
    .slice(1)
    .map((part) => part.split(/^\s*\[/m)[0] ?? '');
  const hasMain = names.includes(path.posix.join(at, 'src/main.rs')) && !stated.some((part) => part.includes('"src/main.rs"'));
  const folder = path.posix.join(at, 'src/bin/');
  const found = names.flatMap((name) =>
    name.startsWith(folder) ? (/^(?:([^/.]+)\.rs|([^/]+)\/main\.rs)$/.exec(name.slice(folder.length))?.slice(1) ?? []) : [],
  );
  const all = [...(hasMain ? [crate] : []), ...stated.map(nameIn), ...found].filter((name) => name !== undefined);
  const preferred = /^\s*default-run\s*=\s*"([^"]+)"/m.exec(text)?.[1];
  return { text, crate, at, binaries: [...new Set(all)], preferred };
}

/** Returns the likeliest package with a program of a workspace. */
async function rustMember(folder: Folder, names: readonly string[]): Promise<Crate | null> {
  const all: Crate[] = [];
  for (const at of names.flatMap((name) => /^(.+)\/Cargo\.toml$/.exec(name)?.[1] ?? [])) {
    const found = crateOf((await folder.read(`${at}/Cargo.toml`)) ?? '', at, names);
    if (found !== null && found.binaries.length > 0) all.push(found);
  }
  const own = all.filter(({ at }) => !/^(examples?|xtask|tools|benches|fuzz)(\/|$)/.test(at));
  const chosen = likeliest((own.length > 0 ? own : all).map(({ at }) => at));
  return all.find(({ at }) => at === chosen) ?? null;
}

export function rustFile({ version, port, facts }: Detected): string {
  const { binary = 'app', locked = '', member = '', files = '', sources = '', target = '' } = facts;
  const build = `cargo build --release${locked}${member}`;
  const early =
    files === ''
      ? ''
      : `# Crates are compiled again only when these files change: an empty program uses them all.
COPY ${files} ./
RUN mkdir src && ${sources.includes('lib.rs') ? 'touch src/lib.rs && ' : ''}echo 'fn main() {}' > src/main.rs && ${build} && rm -r src
`;
  // The times of files are older than those of the empty program.
  const touch = files === '' ? '' : `touch ${sources} && `;
  return `FROM ${library}/rust:${version ?? '1'}-${debian} AS build
WORKDIR /src
${early}COPY . .
RUN ${touch}${build}

${binaryStage(path.posix.join('/src/target', target, 'release', binary), port, facts)}`;
}
