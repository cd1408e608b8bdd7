import path from 'node:path';
import { missingWords } from '../packages/contract/src/testing/missing-words.ts';

/**
 * Prints what lacks words in the API document: `node tools/words.ts packages/contract/src/cluster/cluster.ts`. Without
 * an argument it prints the number for each file. Exit code 1: something is missing.
 */
async function main(name: string | undefined): Promise<number> {
  const missing = await missingWords();
  if (name === undefined) {
    const counts = Map.groupBy(missing, ({ file }) => file);
    for (const [file, list] of [...counts].toSorted(([one], [other]) => (one < other ? -1 : 1)))
      process.stdout.write(`${list.length} ${file}\n`);
    return missing.length === 0 ? 0 : 1;
  }
  const wanted = path.relative(path.join(import.meta.dirname, '../packages/contract/src'), path.resolve(name));
  const found = missing.filter(({ file }) => file.startsWith(wanted));
  for (const { file, place, lacks } of found) process.stdout.write(`${file}: ${place} lacks ${lacks}\n`);
  return found.length === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv[2]);
