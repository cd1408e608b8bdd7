import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

// Exits with 0 if node_modules contains the packages of package-lock.json at their versions, else with 1. The program
// imports only modules of Node, as it runs before anything is installed.

interface LockFile {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly optional?: boolean; readonly link?: boolean }>
  >;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const wanted = packagesOf('package-lock.json');
const installed = packagesOf('node_modules/.package-lock.json');
const isMatching = Object.entries(wanted).every(([location, { version, optional, link }]) => {
  if (!location.startsWith('node_modules/') || link === true) return true;
  const found = installed[location];
  // Optional packages may be missing: they are for other platforms, or could not be installed.
  return found === undefined ? optional === true : found.version === version;
});
process.exitCode = isMatching ? 0 : 1;

function packagesOf(file: string): LockFile['packages'] {
  const lockFile: LockFile = JSON.parse(readFileSync(path.join(root, file), 'utf8'));
  return lockFile.packages;
}
