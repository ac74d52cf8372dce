import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createMetrics } from '#infra/metrics/metrics.ts';
import { flowDashboard } from '#test/docs/flow_dashboard.ts';
import { anchorsIn } from '#test/harness/headings.ts';

const read = (path: string): string => readFileSync(path, 'utf8');
const RULES = read('deploy/prometheus/rules.yaml').replace(/^ *#.*$/gm, '');
const RULE_TESTS = read('deploy/prometheus/rules.test.yaml');
const OPERATIONS = read('docs/operations.md');

/** Prometheus' own, and those of node_exporter, which watches disks that no process of ours can see. */
const OF_OTHERS = ['up', 'node_filesystem_avail_bytes', 'node_filesystem_size_bytes'];

const sources = ['infra', 'services', 'pipelines'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => read(`${folder}/${name}`)),
);
const REGISTERED = new Set(
  sources.flatMap((text) =>
    [...text.matchAll(/\b(?:counter|gauge|histogram|read)\(\s*'(svc_\w+)'/g)].map(([, name = '']) => name),
  ),
);

async function knownNames(): Promise<Set<string>> {
  const own = await createMetrics('test').registry.getMetricsAsJSON();
  return new Set([...REGISTERED, ...own.map(({ name }) => name), ...OF_OTHERS]);
}

const namesIn = (expression: string): string[] =>
  [...expression.replace(/"[^"]*"/g, '""').matchAll(/\b(?:svc|process|nodejs|node)_\w+|\bup\b/g)].map(([name]) =>
    name.replace(/_(?:bucket|sum|count)$/, ''),
  );

test('every metric that an alert names is one that a process has', async () => {
  const known = await knownNames();
  const expressions = RULES.replace(/annotations:(?:\n {10}.*)+/g, '');
  const names = namesIn(expressions);
  expect(new Set(names).size).toBeGreaterThan(20);
  expect(names.filter((name) => !known.has(name))).toEqual([]);
});

test('every panel of the dashboard shows metrics that a process has', async () => {
  const known = await knownNames();
  const panels = flowDashboard().panels as { title: string; targets?: { expr: string }[] }[];
  const shown = panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      unknown: namesIn(expr).filter((name) => !known.has(name)),
      named: namesIn(expr),
    })),
  );
  expect(shown.length).toBeGreaterThan(15);
  expect(shown.filter(({ unknown, named }) => unknown.length > 0 || named.length === 0)).toEqual([]);
});

test('the dashboard in deploy is that of its table', () => {
  expect(JSON.parse(read('deploy/grafana/flow.json'))).toEqual(flowDashboard());
});

test('every alert has a severity, a summary and a heading of the runbook, and fires in a test of its own', () => {
  const headings = anchorsIn(OPERATIONS);
  const alerts = RULES.split('- alert: ').slice(1);
  expect(alerts.length).toBeGreaterThan(20);
  for (const alert of alerts) {
    const name = alert.split('\n')[0] ?? '';
    const [, runbook = ''] = /runbook: docs\/operations\.md#(\S+)/.exec(alert) ?? [];
    expect({ name, isThere: headings.has(runbook) }).toEqual({ name, isThere: true });
    expect(alert).toMatch(/labels: \{ severity: (?:critical|warning) \}/);
    expect(alert).toMatch(/summary: \S/);
    expect(RULE_TESTS).toMatch(new RegExp(`alertname: ${name}\\n +exp_alerts:`));
    expect(RULE_TESTS).toContain(`{ eval_time: 65m, alertname: ${name} }`);
  }
});

test('every metric is in the documentation', () => {
  expect([...REGISTERED].filter((name) => !OPERATIONS.includes(`\`${name}\``))).toEqual([]);
});
