/** Why starting the local parts can fail; docs and callers rely on these codes. */
export type LocalErrorCode =
  | 'local_java_missing'
  | 'local_redis_missing'
  | 'local_clickhouse_missing'
  | 'local_tool_missing'
  | 'local_tool_failed'
  | 'local_part_failed'
  | 'local_process_not_ready'
  | 'local_no_free_port';

/** A failure to bring up or keep a local part, with a message that says what to do. */
export class LocalError extends Error {
  readonly code: LocalErrorCode;

  constructor(code: LocalErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LocalError';
    this.code = code;
  }
}
