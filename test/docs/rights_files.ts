import { analystStatements, sqlRightsStatements } from '#infra/clickhouse/analysts/analyst_rights.ts';
import { analystManagerStatements } from '#infra/clickhouse/analysts/analyst_users.ts';
import { aclCommands } from '#infra/kafka/provision.ts';
import { aclUserCommands, clickhouseUserStatements, processUsers } from '#infra/rights/process_rights.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';

/** The deliveries differ in their names alone: one stands for all. */
const SHOWN = 'meta';
const USERS = processUsers(DESTINATIONS.map(({ name }) => name)).filter(
  ({ user }) => !user.startsWith('svc_delivery_') || user === `svc_delivery_${SHOWN}`,
);
const PASSWORD = 'SHA256_OF_THE_PASSWORD';

const lines = (...texts: readonly string[]): string => `${texts.join('\n')}\n`;
const sql = (about: string, statements: readonly string[]): string =>
  lines(`-- ${about}`, ...statements.map((statement) => `${statement};`));

/** What whoever manages access runs at Kafka, Redis and ClickHouse: the files of docs/rights, made from the rights in code. */
export const RIGHTS_FILES: Record<string, string> = {
  'kafka_acls.sh': lines(
    '# Every delivery gets what svc_delivery_meta has, by its own name. With another KAFKA_GROUP_PREFIX than svc, replace it.',
    'PREFIX= # KAFKA_TOPIC_PREFIX',
    'ACLS="kafka-acls.sh --bootstrap-server BROKER:9092 --command-config admin.properties --add"',
    ...aclCommands(USERS, 'svc'),
  ),
  'redis_users.acl': lines(...aclUserCommands(USERS)),
  'clickhouse_users.sql': sql('The users of the processes.', clickhouseUserStatements(USERS, 'svc')),
  'clickhouse_analyst.sql': sql('An analyst of the site shop.', analystStatements('shop', 'svc', PASSWORD)),
  'clickhouse_analyst_manager.sql': sql(
    'The user of CONTROL_ANALYSTS_URL, which makes analysts over the API.',
    analystManagerStatements('svc', PASSWORD),
  ),
  'clickhouse_sql_api.sql': sql(
    'The user of CONTROL_SQL_URL, which asks the SQL of the API.',
    sqlRightsStatements('svc', PASSWORD),
  ),
};
