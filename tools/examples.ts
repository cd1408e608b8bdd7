import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import startDatabase from '@davit/testkit/global-database';
import { examplesOf } from '../e2e/examples/examples.ts';
import { runStory } from '../e2e/examples/story.ts';
import { generatedFolder } from './generated.ts';

/*
 * Writes the examples of the operations: runs the story of the shop against a real server, with a PostgreSQL and
 * clusters of its own.
 */

const stop = await startDatabase();
try {
  const examples = examplesOf(await runStory());
  await writeFile(path.join(generatedFolder, 'examples.json'), `${JSON.stringify(examples, null, 2)}\n`);
  process.stdout.write(`${Object.keys(examples).length} operations have an example\n`);
} finally {
  await stop();
}
