import { defineConfig } from 'vitest/config';
import { PROJECTS } from './test/harness/run/projects.ts';

export default defineConfig({ test: { pool: 'forks', projects: PROJECTS } });
