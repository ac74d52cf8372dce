import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that a webhook endpoint got. */
interface Delivery {
  path: string;
  headers: Record<string, string>;
  body: string;
}

export interface WebhookReceiver {
  url: string;
  deliveries: Delivery[];
  close(): Promise<void>;
}

/** An endpoint of a customer: keeps what it gets and answers 200, or the status that is asked for. */
export async function startWebhookReceiver(statusOf: (body: string) => number = () => 200): Promise<WebhookReceiver> {
  const deliveries: Delivery[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      deliveries.push({
        path: request.url ?? '',
        headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
        body,
      });
      response.writeHead(statusOf(body)).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    deliveries,
    close() {
      server.closeAllConnections();
      return new Promise((resolve, reject) => server.close((error) => (error ? reject(error) : resolve())));
    },
  };
}

/** An answer for `startWebhookReceiver`: 400 for the events of `refused`, also those that are added later, and 200 for all others. */
export function refusing(refused: ReadonlySet<string>): (body: string) => number {
  return (body) => (refused.has(eventIdOf(body)) ? 400 : 200);
}

/** Event ids in the order they were delivered, each as often as it came. */
export function deliveredIds({ deliveries }: WebhookReceiver): string[] {
  return deliveries.map(({ body }) => eventIdOf(body));
}

const eventIdOf = (body: string): string => (JSON.parse(body) as { data: { event_id: string } }).data.event_id;
