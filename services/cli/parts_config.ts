import type { Environment } from '#infra/config/config.ts';
import { UsageError } from './usage_error.ts';

const READY_NAMES = {
  KAFKA_BROKERS: 'kafka',
  SCHEMA_REGISTRY_URL: 'registry',
  REDIS_URL: 'redis',
  CLICKHOUSE_URL: 'clickhouse',
} as const;

/**
 * The environment, with the addresses of what runs locally where it names none.
 *
 * @param readyText What ready.json holds; null while nothing runs here.
 * @throws UsageError when an address is known from neither.
 */
export function withLocalParts(env: Environment, readyText: string | null): Environment {
  const ready: Record<string, unknown> = readyText === null ? {} : { ...JSON.parse(readyText) };
  const entries = Object.entries(READY_NAMES).map(([variable, name]) => {
    const address = env[variable] || ready[name];
    if (typeof address === 'string') return [variable, address] as const;
    throw new UsageError('not_running', `nothing runs here and ${variable} is not set: start it with npm start`);
  });
  return { ...env, ...Object.fromEntries(entries) };
}
