import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const FOLDER = new URL('../../../services/local/', import.meta.url);
const SOURCES = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(?:ts|sh)$/.test(name));

/** Programs that fetch what then runs here, and the option by which they take only what is known or run none of it. */
test.for([
  ['pip', /'pip', 'install'/, '--require-hashes'],
  ['Maven', /runTool\('mvn'/, "'-C'"],
  ['npm', /^\s*npm (?:ci|install)\b/, '--ignore-scripts'],
] as const)('%s is never called without its guard', ([, call, option]) => {
  const calls = SOURCES.flatMap((name) =>
    readFileSync(new URL(name, FOLDER), 'utf8')
      .split('\n')
      .filter((line) => call.test(line) && !/^\s*(?:#|\*|\/\/|echo)/.test(line)),
  );
  expect(calls.length).toBeGreaterThan(0);
  expect(calls.filter((line) => !line.includes(option))).toEqual([]);
});
