import { defineConfig } from 'vitest/config';
import { PROJECTS } from './test/harness/run/projects.ts';

export default defineConfig({
  test: {
    pool: 'forks',
    setupFiles: ['test/harness/seed.ts'],
    // What is polled for comes, however slow the machine: only what never does takes this long.
    expect: { poll: { timeout: 30_000, interval: 20 } },
    projects: PROJECTS,
  },
});
