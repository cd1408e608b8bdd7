import { defineConfig } from 'vitest/config';
import { projects } from './tools/test-projects.ts';

export default defineConfig({ test: { projects, chaiConfig: { truncateThreshold: 2_000 } } });
