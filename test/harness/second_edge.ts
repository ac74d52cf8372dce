import { serviceEnvironment } from '#services/local/start/config.ts';
import { type BenchChild, startChild } from '#test/bench/edge/child.ts';
import type { SharedService } from './shared_service.ts';

/** Another replica of the shared service's edge, with variables of its own. */
export async function startSecondEdge(service: SharedService, env: Record<string, string> = {}): Promise<BenchChild> {
  const { ready, dataDir } = service;
  const base = await serviceEnvironment(dataDir, {
    kafkaBrokers: ready.kafka,
    registryUrl: ready.registry,
    redisUrl: ready.redis,
    clickhouseUrl: ready.clickhouse,
  });
  const own = { ...base, EDGE_PORT: '0', METRICS_PORT: '0', ...env };
  return startChild('../../../services/edge/main.ts', [], own);
}
