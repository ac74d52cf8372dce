import { readFileSync, writeFileSync } from 'node:fs';
import { withTables } from './configuration_page.ts';

/** `npm run docs:configuration`: writes the tables of docs/configuration.md anew. */
const PAGE = new URL('../../docs/configuration.md', import.meta.url);
writeFileSync(PAGE, withTables(readFileSync(PAGE, 'utf8')));
