import { readFileSync, writeFileSync } from 'node:fs';
import { withTables } from './configuration_page.ts';
import { flowDashboard } from './flow_dashboard.ts';
import { RIGHTS_FILES } from './rights_files.ts';

/** `npm run docs:configuration`: writes the tables of docs/configuration.md, the files of docs/rights, and the dashboard. */
const DOCS = new URL('../../docs/', import.meta.url);

const configuration = new URL('configuration.md', DOCS);
writeFileSync(configuration, withTables(readFileSync(configuration, 'utf8')));
for (const [name, text] of Object.entries(RIGHTS_FILES)) writeFileSync(new URL(`rights/${name}`, DOCS), text);
writeFileSync(new URL('../deploy/grafana/flow.json', DOCS), `${JSON.stringify(flowDashboard(), null, 2)}\n`);
