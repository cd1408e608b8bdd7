import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { callEngine, findProgram, importImage, tarOf, type EngineConnection } from '@davit/drivers';
import { testEnginesFolder } from './engines.ts';

/*
 * Base images of generated Dockerfiles, made of Debian's packages under the names of the official images, with their
 * paths, variables, users and commands. The recipes in the folder `bases` say where they differ.
 */

const recipes = path.join(import.meta.dirname, 'bases');
const library = 'docker.io/library';
/** The release of Debian that the official images are made of. */
const release = 'trixie';
const signal = new AbortController().signal;

/** An image that a recipe makes. */
interface Base {
  readonly recipe: string;
  /** A stage of the recipe. Default: the last one. */
  readonly target?: string;
  readonly image: string;
}

const common: readonly Base[] = [
  { recipe: 'base', image: `davit-test/debian:${release}` },
  { recipe: 'debian', image: `${library}/debian:${release}-slim` },
];

const bases = {
  Go: [{ recipe: 'golang', image: `${library}/golang:1.24` }],
  Rust: [{ recipe: 'rust', image: `${library}/rust:1-${release}` }],
  Java: [
    { recipe: 'java', target: 'jre', image: `${library}/eclipse-temurin:21-jre` },
    { recipe: 'java', target: 'jdk', image: `${library}/eclipse-temurin:21-jdk` },
    { recipe: 'java', target: 'maven', image: `${library}/maven:3-eclipse-temurin-21` },
    { recipe: 'java', target: 'gradle', image: `${library}/gradle:8-jdk21` },
  ],
  PHP: [
    { recipe: 'php', target: 'apache', image: `${library}/php:8.4-apache` },
    { recipe: 'php', target: 'installer', image: 'docker.io/mlocati/php-extension-installer:2' },
    { recipe: 'php', target: 'composer', image: `${library}/composer:2` },
  ],
  Ruby: [
    { recipe: 'ruby', target: 'slim', image: `${library}/ruby:3.3-slim` },
    { recipe: 'ruby', target: 'full', image: `${library}/ruby:3.3` },
  ],
} satisfies Readonly<Record<string, readonly Base[]>>;

/** Returns whether base images can be made here: that needs root, mmdebstrap and the keys of Debian. */
export function canMakeBases(): boolean {
  const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
  return isRoot && findProgram('mmdebstrap') !== null && existsSync('/usr/share/keyrings/debian-archive-keyring.gpg');
}

/** Makes the images of a language on the engine, unless it has them. Needs a mirror of Debian, and takes minutes. */
export async function makeLanguageBases(docker: EngineConnection, language: keyof typeof bases): Promise<void> {
  const files = { name: 'davit-test/files', tag: release };
  if (!(await isThere(docker, `${files.name}:${files.tag}`))) {
    await importImage(docker, { ...files, archive: await debianFiles() }, signal);
  }
  const archive = await tarOf((made) => {
    for (const name of readdirSync(recipes)) {
      made.entry({ name, mode: name.endsWith('.Dockerfile') ? 0o644 : 0o755 }, readFileSync(path.join(recipes, name)));
    }
  });
  for (const base of [...common, ...bases[language]]) {
    if (!(await isThere(docker, base.image))) await build(docker, base, archive);
  }
}

/** Returns the files of Debian without documentation. They are kept for the other engine of a run. */
async function debianFiles(): Promise<Buffer> {
  const file = path.join(testEnginesFolder(), `debian-${release}.tar`);
  if (existsSync(file)) return readFile(file);
  await mkdir(testEnginesFolder(), { recursive: true, mode: 0o700 });
  const without = ['man', 'doc', 'info', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`);
  const hooks = '--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr';
  const words = ['--variant=minbase', ...without, hooks, release, `${file}.part.tar`];
  await promisify(execFile)('mmdebstrap', words, { timeout: 1_200_000, maxBuffer: 64 * 1024 * 1024 });
  await rename(`${file}.part.tar`, file).catch(async (error: unknown) => {
    await rm(`${file}.part.tar`, { force: true });
    throw error;
  });
  return readFile(file);
}

/** Builds an image on the network of this machine: the containers of test engines reach nothing outside. */
async function build(docker: EngineConnection, { recipe, target, image }: Base, archive: Buffer): Promise<void> {
  const query = { t: image, dockerfile: `${recipe}.Dockerfile`, networkmode: 'host', ...(target !== undefined && { target }) };
  const timeoutMilliseconds = 1_800_000;
  const { body } = await callEngine(docker, { method: 'POST', path: '/build', query, archive, signal, timeoutMilliseconds });
  if (!(await isThere(docker, image))) throw new Error(`${image} was not made: ${JSON.stringify(body).slice(-4_000)}`);
}

async function isThere(docker: EngineConnection, image: string): Promise<boolean> {
  const request = { method: 'GET', path: `/images/${image}/json`, signal, accept: [404] } as const;
  return (await callEngine(docker, request)).status === 200;
}
