import { DATABASE } from './users.ts';

/**
 * Merges give way to inserts and queries. Where the kernel shares the cores out by session (autogroups, the default of
 * Debian's kernel), what the server's own threads leave each other is all that an insert gets.
 */
const MERGES_NICE = 10;

/** config.xml of the local ClickHouse. */
export function renderConfig(folder: string, logPath: string): string {
  return `<clickhouse>
<logger><level>warning</level><console>0</console><log>${logPath}</log><size>10M</size><count>1</count></logger>
<keep_alive_timeout>3</keep_alive_timeout>
<os_threads_nice_value_merge_mutate>${MERGES_NICE}</os_threads_nice_value_merge_mutate>
<background_pool_size>8</background_pool_size>
<background_schedule_pool_size>16</background_schedule_pool_size>
<listen_host>127.0.0.1</listen_host>
<user_directories><users_xml><path>${folder}/users.xml</path></users_xml></user_directories>
${renderHandlers()}
</clickhouse>
`;
}

/**
 * The client takes the path of its URL for the database's name, while curl posts to that path: a handler there
 * makes one URL good for both.
 */
function renderHandlers(): string {
  return `<http_handlers>
<rule><url>/${DATABASE}</url><handler><type>dynamic_query_handler</type><query_param_name>query</query_param_name></handler></rule>
<defaults/>
</http_handlers>`;
}
