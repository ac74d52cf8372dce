import { readFileSync, writeFileSync } from 'node:fs';
import { withTables } from './configuration_page.ts';
import { withRights } from './rights_page.ts';

/** `npm run docs:configuration`: writes the tables of docs/configuration.md anew, and the commands of docs/operations.md. */
function rewrite(name: string, anew: (page: string) => string): void {
  const path = new URL(`../../docs/${name}`, import.meta.url);
  writeFileSync(path, anew(readFileSync(path, 'utf8')));
}

rewrite('configuration.md', withTables);
rewrite('operations.md', withRights);
