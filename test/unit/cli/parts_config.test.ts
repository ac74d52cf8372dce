import { describe, expect, it } from 'vitest';
import { withLocalParts } from '#services/cli/parts_config.ts';

const READY = JSON.stringify({
  kafka: 'local:1',
  registry: 'http://local:2',
  redis: 'redis://l',
  clickhouse: 'http://l',
});

describe('where the command line finds the parts', () => {
  it('is what runs locally, unless the environment names another', () => {
    expect(withLocalParts({ KAFKA_BROKERS: 'mine:9092', KAFKA_TLS: 'true', REDIS_URL: '' }, READY)).toEqual({
      KAFKA_BROKERS: 'mine:9092',
      KAFKA_TLS: 'true',
      SCHEMA_REGISTRY_URL: 'http://local:2',
      REDIS_URL: 'redis://l',
      CLICKHOUSE_URL: 'http://l',
    });
  });

  it.each([null, '{}', '{"kafka":["a"]}'])('is an error with a code when neither knows: %j', (ready) => {
    expect(() => withLocalParts({}, ready)).toThrow(
      expect.objectContaining({ code: 'not_running', message: expect.stringContaining('KAFKA_BROKERS') }),
    );
  });
});
