import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { generated, generatedFolder } from './generated.ts';

/**
 * Writes the generated files. With `--check` it only reports the stale files and returns exit code 1 if there are any.
 */
async function generate(isCheck: boolean): Promise<number> {
  let stale = 0;
  await mkdir(generatedFolder, { recursive: true });
  for (const [name, text] of await generated()) {
    const file = path.join(generatedFolder, name);
    const found = await readFile(file, 'utf8').catch(() => '');
    if (found === text) continue;
    stale += 1;
    if (isCheck) process.stderr.write(`${file} is stale: run npm run generate\n`);
    else await writeFile(file, text);
  }
  return isCheck && stale > 0 ? 1 : 0;
}

process.exitCode = await generate(process.argv.includes('--check'));
