import type { AnalystUser, AnalystUsers } from '#infra/clickhouse/analyst_users.ts';

/** Users of analysts in memory, as ClickHouse would have them. */
export function memoryAnalysts(users: Map<string, AnalystUser & { passwordSha256: string }>): AnalystUsers {
  return {
    list: async () => [...users.values()].sort((a, b) => (a.analystId < b.analystId ? -1 : 1)),
    async make(wanted) {
      if (users.has(wanted.analystId)) return null;
      const made = { user: `sql_user_${wanted.analystId}`, ...wanted };
      users.set(wanted.analystId, made);
      return made;
    },
    async revoke(analystId) {
      users.delete(analystId);
    },
  };
}
