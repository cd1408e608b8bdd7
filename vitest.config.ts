import { defineConfig } from 'vitest/config';
import { projects } from './tools/test-projects.ts';
import { LongestFirst } from './tools/test-sequencer.ts';

export default defineConfig({
  test: { projects, chaiConfig: { truncateThreshold: 2_000 }, sequence: { sequencer: LongestFirst } },
});
