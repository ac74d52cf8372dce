import { ANY_NAME, settingGroups } from './catalogue.ts';
import type { Environment } from './config.ts';

/**
 * Prefixes of our variables' names. Common prefixes, such as LOG_ or LOCAL_, are left out, because a variable of another
 * program is not a mistake.
 */
const PREFIXES = [
  'AUDIT_DAY',
  'CLICKHOUSE_',
  'CONTROL_',
  'DEDUP_',
  'DELIVERY_',
  'EDGE_',
  'EGRESS_',
  'EVENT_PARTITION',
  'FAILPOINT',
  'IDENTITY_',
  'KAFKA_',
  'METRICS_',
  'PERSON_MERGE_',
  'RATE_LIMIT_',
  'REDIS_',
  'REQUEST_ERRORS_',
  'SCHEMA_REGISTRY_',
  'SECRETS_',
  'SVC_ADMIN_',
  'SVC_CONTROL_',
  'TRANSACTION_PARTITION',
  'TRUSTED_',
  'WAREHOUSE_',
];

/** Variables that Kubernetes sets for a service that is named like one of our prefixes. */
const OF_KUBERNETES = /_SERVICE_(?:HOST|PORT)|_PORT_\d+_/;

/** Variables that are set without effect, or soon without: former names, and names that nothing reads. */
export function settingWarnings(env: Environment): string[] {
  const all = Object.values(settingGroups([])).flatMap((group) => group.map(({ facts }) => facts));
  const isSet = (name: string | undefined): name is string => name !== undefined && !!env[name];
  const renamed = all.flatMap(({ variable, formerly }) =>
    isSet(formerly) ? [`${formerly} is now called ${variable}: the next version does not read the former name`] : [],
  );
  const names = all.map(({ variable }) => variable);
  const known = new Set(all.flatMap(({ variable, formerly = variable }) => [variable, formerly]));
  const unknown = Object.keys(env).filter(
    (name) => isSet(name) && !known.has(name) && looksLikeOurs(name) && !names.some((form) => isForm(form, name)),
  );
  return [...renamed, ...unknown.map((name) => `nothing reads ${name}: did you mean ${nearest(name, names)}?`)];
}

function looksLikeOurs(name: string): boolean {
  return PREFIXES.some((prefix) => name.startsWith(prefix)) && !OF_KUBERNETES.test(name);
}

/** Whether a name is that of a variable with a destination's name in it. */
function isForm(form: string, name: string): boolean {
  const [before = '', after] = form.split(ANY_NAME);
  return (
    after !== undefined && name.startsWith(before) && name.endsWith(after) && name.length > before.length + after.length
  );
}

function nearest(name: string, names: readonly string[]): string {
  const distances = names.map((other) => distance(name, other));
  return names[distances.indexOf(Math.min(...distances))] ?? '';
}

/** How many letters to add, remove or change to turn one text into the other (Levenshtein distance). */
function distance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [row, letter] of from.split('').entries()) {
    const current = [row + 1];
    for (const [column, other] of to.split('').entries()) {
      const changed = (above[column] ?? 0) + (letter === other ? 0 : 1);
      current.push(Math.min(changed, (above[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    above = current;
  }
  return above.at(-1) ?? 0;
}
