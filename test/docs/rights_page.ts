import { clickhouseUserStatements } from '#infra/clickhouse/service_users.ts';
import { aclCommands } from '#infra/kafka/acls.ts';
import { aclUserCommands } from '#infra/redis/acl_users.ts';
import { processUsers } from '#infra/rights/process_rights.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';

const BLOCK = /(<!-- rights: ([a-z]+) -->\n)[\s\S]*?(<!-- end -->)/g;

/** The deliveries differ in their names alone: one stands for all. */
const SHOWN = 'meta';
const USERS = processUsers(DESTINATIONS.map(({ name }) => name)).filter(
  ({ user }) => !user.startsWith('svc_delivery_') || user === `svc_delivery_${SHOWN}`,
);

const BLOCKS: Record<string, { language: string; lines: readonly string[] }> = {
  kafka: { language: 'sh', lines: aclCommands(USERS, 'svc') },
  redis: { language: 'text', lines: aclUserCommands(USERS) },
  clickhouse: {
    language: 'sql',
    lines: clickhouseUserStatements(USERS, 'svc').map((statement) => `${statement};`),
  },
};

/**
 * The page with its commands made anew from the table of rights; what stands between them is left as it is.
 *
 * @throws Error where the page lacks a block, or has one that is not.
 */
export function withRights(page: string): string {
  const names = [...page.matchAll(BLOCK)].map(([, , name = '']) => name);
  if (names.toSorted().join() !== Object.keys(BLOCKS).toSorted().join()) {
    throw new Error(`the page has blocks for ${names.join()}, and there are ${Object.keys(BLOCKS).join()}`);
  }
  return page.replace(BLOCK, (_, begin: string, name: string, end: string) => {
    const { language = '', lines = [] } = BLOCKS[name] ?? {};
    return `${begin}\n\`\`\`${language}\n${lines.join('\n')}\n\`\`\`\n\n${end}`;
  });
}
