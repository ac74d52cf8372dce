import { DATABASE } from './users.ts';

/**
 * Merges run at a lower priority than inserts and queries. If the kernel shares the cores by session (autogroups, Debian's
 * default), an insert gets only what the server's other threads leave.
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
 * The client takes the path of its URL as the name of the database, while curl posts to that path. With a handler on that
 * path one URL works for both.
 */
function renderHandlers(): string {
  return `<http_handlers>
<rule><url>/${DATABASE}</url><handler><type>dynamic_query_handler</type><query_param_name>query</query_param_name></handler></rule>
<defaults/>
</http_handlers>`;
}
