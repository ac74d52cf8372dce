import type { AnalystUsers } from '#infra/clickhouse/analyst_users.ts';
import type { WarehouseProbe } from '#infra/clickhouse/health_probe.ts';
import type { Logger } from '#infra/log/logger.ts';

/**
 * The users of analysts, asked for no longer than ClickHouse answers. What fails is logged with what was to be done and
 * ClickHouse's own code, also when it fails after the probe has given up: a user may be half revoked then.
 */
export function logAnalysts(
  analysts: AnalystUsers,
  { guard }: Pick<WarehouseProbe, 'guard'>,
  logger: Logger,
): AnalystUsers {
  async function reached<T>(act: string, analyst: string | null, ask: () => Promise<T>): Promise<T> {
    const failed = (error: unknown): never => {
      // Its message is ClickHouse's code and the name of the code; statements, which have hashes of passwords, are in no error.
      logger.warn({ act, analyst, err: error }, 'a user of an analyst could not be reached or changed');
      throw error;
    };
    let isLogged = false;
    const asked = (): Promise<T> =>
      ask().catch((error: unknown) => {
        isLogged = true;
        return failed(error);
      });
    return guard(asked).catch((error: unknown) => (isLogged ? Promise.reject(error) : failed(error)));
  }
  return {
    list: () => reached('list', null, () => analysts.list()),
    make: (wanted, refusalOf) => reached('make', wanted.analystId, () => analysts.make(wanted, refusalOf)),
    revoke: (analystId) => reached('revoke', analystId, () => analysts.revoke(analystId)),
  };
}
