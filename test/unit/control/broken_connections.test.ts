import { expect, test } from 'vitest';
import { listen } from '#infra/http/http_server.ts';
import { cases, testSeed } from '#test/harness/environment.ts';
import { runBroken } from '#test/harness/hostile/run_broken.ts';
import { CONTROL_DOCUMENTED, controlRequest } from '#test/harness/hostile/targets.ts';
import { control, LABEL, TOKEN } from './harness.ts';

const COUNT = cases(200);

test('connections to the control service, cut at any byte: nothing unforeseen', { timeout: 60_000 }, async () => {
  const { app, unknown } = await control(LABEL, async () => []);
  const port = await listen(app, '127.0.0.1', 0);
  const run = await runBroken(`http://127.0.0.1:${port}`, (chance) => controlRequest(chance, TOKEN), {
    seed: testSeed(),
    count: COUNT,
    documented: CONTROL_DOCUMENTED,
  });
  expect(run.surprises).toEqual([]);
  expect(unknown).toEqual([]);
  expect(run.statuses['200']).toBeGreaterThan(0);
  await app.close();
});
