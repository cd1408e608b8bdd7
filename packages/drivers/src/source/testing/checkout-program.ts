import { neverAborted } from '@davit/base';
import { createGitSource } from '../git-source.ts';

/*
 * A process that checks out a commit, for a test that kills it.
 * Arguments: kept folder, target, URL, commit, organization.
 */

const [keptFolder = '', folder = '', url = '', commit = '', organization = ''] = process.argv.slice(2);
const source = createGitSource({ kept: { folder: keptFolder, maximumBytes: 1e9 } });
await source.checkout({ url, commit, organization }, folder, { signal: neverAborted, log: () => undefined });
