import path from 'node:path';
import type { Detected, Finder, Folder } from './detected.ts';
import { dataFolders, debianPackages, library, likeliest, sectionOf } from './lines.ts';

/** The release of Debian that both stages of a program have, so that it finds the same libraries. */
const debian = 'trixie';

/** Returns the stage that runs a program that was built in the stage `build`. */
function binaryStage(program: string, port: number, { data = '', packages = '' }: Readonly<Record<string, string>>): string {
  const folders = data.split(' ').flatMap((one) => (one === '' ? [] : `COPY ${one} ./${one}\n`));
  const libraries =
    packages === ''
      ? 'COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/\n'
      : debianPackages(['ca-certificates', ...packages.split(' ')]);
  return `FROM ${library}/debian:${debian}-slim
${libraries}WORKDIR /app
${folders.join('')}COPY --from=build ${program} /usr/local/bin/app
ENV PORT=${port}
USER nobody
EXPOSE ${port}
CMD ["app"]`;
}

export const go: Finder = async (folder, names) => {
  const [module, workspace] = [await folder.read('go.mod'), await folder.read('go.work')];
  const text = workspace ?? module;
  if (text === null) return null;
  const main = await goMain(folder, names, module ?? '');
  if (main === undefined) return null;
  // The image has one toolchain, which must not be older than the files ask for.
  const wanted = [...text.matchAll(/^(?:go |toolchain go)(\d+)\.(\d+)/gm)].map(
    ([, major, minor]) => Number(major) * 1000 + Number(minor),
  );
  const newest = Math.max(0, ...wanted);
  const isVendored = (await folder.read('vendor/modules.txt')) !== null;
  const needsAll = workspace !== null || isVendored || /=>\s*\.{0,2}\//.test(text);
  const needsC = /mattn\/go-sqlite3|confluent-kafka-go/.test(module ?? '');
  const facts = {
    main,
    files: needsAll ? '' : `go.mod${names.includes('go.sum') ? ' go.sum' : ''}`,
    cgo: needsC ? '1' : '0',
    data: await dataFolders(folder, names),
  };
  const version = newest < 1021 ? null : `${Math.floor(newest / 1000)}.${newest % 1000}`;
  return { language: 'Go', because: workspace === null ? 'go.mod' : 'go.work', version, facts };
};

/** Returns the package of the program: that of the folder itself, or the likeliest one below it; undefined if none. */
async function goMain(folder: Folder, names: readonly string[], module: string): Promise<string | undefined> {
  const atRoot = names.filter((name) => /^[^/]+\.go$/.test(name) && !name.endsWith('_test.go'));
  const texts = await Promise.all(atRoot.map((name) => folder.read(name)));
  if (texts.some((text) => /^package main\b/m.test(text ?? ''))) return '.';
  const all = names.flatMap((name) => /^(.+)\/main\.go$/.exec(name)?.[1] ?? []);
  const usual = all.filter((one) => /^cmd(\/|$)/.test(one));
  const folders = usual.length > 0 ? usual : all.filter((one) => !/^(examples?|scripts|tools|hack|docs)(\/|$)/.test(one));
  const ofModule = /^module\s+(\S+)/m.exec(module)?.[1]?.split('/').at(-1);
  const found = folders.find((one) => path.posix.basename(one) === ofModule) ?? likeliest(folders);
  return found === undefined ? undefined : `./${found}`;
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
  const isProgram =
    sectionOf(text, '[package]') !== '' &&
    (/^\[\[bin\]\]/m.test(text) || names.some((name) => /^src\/(main\.rs$|bin\/)/.test(name)));
  const member = isProgram ? { text, at: '' } : await rustMember(folder, names);
  if (member === null) return null;
  const nameIn = (section: string): string | undefined => /^\s*name\s*=\s*"([^"]+)"/m.exec(sectionOf(member.text, section))?.[1];
  const crate = nameIn('[package]');
  const main = path.posix.join(member.at, 'src/main.rs');
  const programs = path.posix.join(member.at, 'src/bin/');
  const ofFile = likeliest(
    names.flatMap((name) => (name.startsWith(programs) ? (/^[^/.]+/.exec(name.slice(programs.length))?.[0] ?? []) : [])),
  );
  const chosen = /^\s*default-run\s*=\s*"([^"]+)"/m.exec(member.text)?.[1];
  const binary = chosen ?? nameIn('[[bin]]') ?? (names.includes(main) ? crate : ofFile);
  if (crate === undefined || binary === undefined) return null;
  const lock = (await folder.read('Cargo.lock')) ?? text;
  const packages = Object.entries(rustLibraries).flatMap(([name, library_]) => (lock.includes(`"${name}"`) ? library_ : []));
  const isPlain =
    member.at === '' &&
    names.includes(main) &&
    !names.includes('build.rs') &&
    !/\[\[|\[workspace|\bpath\s*=|\bbuild\s*=/.test(text);
  const own = ['Cargo.toml', 'Cargo.lock', 'rust-toolchain.toml', 'rust-toolchain'].filter((name) => names.includes(name));
  const facts = {
    binary,
    locked: names.includes('Cargo.lock') ? ' --locked' : '',
    member: member.at === '' ? '' : ` --package ${crate}`,
    files: isPlain ? own.join(' ') : '',
    sources: names.includes('src/lib.rs') ? 'src/main.rs src/lib.rs' : 'src/main.rs',
    packages: packages.join(' '),
    data: await dataFolders(folder, names),
  };
  // `rust-version` is the oldest compiler that works: the newest one does too, or gets what rust-toolchain.toml names.
  return { language: 'Rust', because: 'Cargo.toml', version: null, facts };
};

/** Returns the likeliest program of a workspace. */
async function rustMember(folder: Folder, names: readonly string[]): Promise<{ text: string; at: string } | null> {
  const programs = names.flatMap((name) => /^(.+)\/src\/main\.rs$/.exec(name)?.[1] ?? []);
  const at = likeliest(programs);
  const text = at === undefined ? null : await folder.read(`${at}/Cargo.toml`);
  return at === undefined || text === null ? null : { text, at };
}

export function rustFile({ version, port, facts }: Detected): string {
  const { binary = 'app', locked = '', member = '', files = '', sources = '' } = facts;
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

${binaryStage(`/src/target/release/${binary}`, port, facts)}`;
}
