import { readClickhouseAddress } from '#infra/clickhouse/servers.ts';

/** Values for the `{name:Type}` places of a query. */
export type Parameters = Record<string, string | number>;

/** Rows of a SELECT, asked over HTTP as any script would with the address of ready.json. */
export async function select<Row>(clickhouseUrl: string, query: string, parameters: Parameters = {}): Promise<Row[]> {
  const url = new URL(readClickhouseAddress(clickhouseUrl)[0]);
  const credentials = Buffer.from(`${url.username}:${url.password}`).toString('base64');
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(`param_${name}`, String(value));
  const response = await fetch(`${url.origin}${url.pathname}${url.search}`, {
    method: 'POST',
    body: `${query} FORMAT JSONEachRow`,
    headers: { authorization: `Basic ${credentials}` },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`clickhouse answered ${response.status}: ${text}`);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
}
