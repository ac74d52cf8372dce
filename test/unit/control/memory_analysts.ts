import type { AnalystUser, AnalystUsers } from '#infra/clickhouse/analysts/analyst_users.ts';

/** Users of analysts in memory, as ClickHouse would have them. */
export function memoryAnalysts(users: Map<string, AnalystUser & { passwordSha256: string }>): AnalystUsers {
  return {
    list: async () => [...users.values()].sort((a, b) => (a.analystId < b.analystId ? -1 : 1)),
    async make(wanted, refusalOf) {
      const refusal = refusalOf([...users.values()]);
      if (refusal !== null) return { kind: 'refused', refusal };
      if (users.has(wanted.analystId)) return { kind: 'exists' };
      const analyst = { user: `sql_user_${wanted.analystId}`, ...wanted };
      users.set(wanted.analystId, analyst);
      return { kind: 'made', analyst };
    },
    async revoke(analystId) {
      users.delete(analystId);
    },
  };
}
