// Drops from the lock file the optional platform packages it could not resolve (and download addresses),
// because `npm ci` refuses a lock that names an optional dependency it does not hold.
import { readFileSync, writeFileSync } from 'node:fs';

const path = new URL('../../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(path, 'utf8'));
const held = new Set(Object.keys(lock.packages).map((key) => key.slice(key.lastIndexOf('node_modules/') + 13)));
for (const [key, entry] of Object.entries(lock.packages)) {
  delete entry.resolved;
  if (key === '' || entry.optionalDependencies === undefined) continue;
  for (const name of Object.keys(entry.optionalDependencies)) {
    if (!held.has(name)) delete entry.optionalDependencies[name];
  }
  if (Object.keys(entry.optionalDependencies).length === 0) delete entry.optionalDependencies;
}
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
