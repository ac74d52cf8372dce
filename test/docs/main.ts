import { readFileSync, writeFileSync } from 'node:fs';
import { withTables } from './configuration_page.ts';
import { RIGHTS_FILES } from './rights_files.ts';

/** `npm run docs:configuration`: writes the tables of docs/configuration.md anew, and the files of docs/rights. */
const DOCS = new URL('../../docs/', import.meta.url);

const configuration = new URL('configuration.md', DOCS);
writeFileSync(configuration, withTables(readFileSync(configuration, 'utf8')));
for (const [name, text] of Object.entries(RIGHTS_FILES)) writeFileSync(new URL(`rights/${name}`, DOCS), text);
