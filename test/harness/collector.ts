import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as a collector got it. */
export interface CollectedSpan {
  service: string;
  traceId: string;
  spanId: string;
  /** Empty of one that begins a trace. */
  parentSpanId: string;
  name: string;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  failed: boolean;
}

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number | string; arrayValue?: { values: { stringValue?: string }[] } };
}

interface SentSpan extends Pick<CollectedSpan, 'traceId' | 'spanId' | 'name'> {
  parentSpanId?: string;
  attributes: Attribute[];
  links?: { traceId: string; spanId: string }[];
  status?: { code?: number };
}

/** What OpenTelemetry calls ExportTraceServiceRequest, as JSON. */
interface ExportRequest {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: SentSpan[] }[] }[];
}

const FAILED = 2;

/** A stand-in of an OpenTelemetry collector, which may go away and come back under its address. */
export async function startCollector() {
  const spans: CollectedSpan[] = [];
  const bodies: string[] = [];
  let server: Server | null = null;
  let port = 0;

  async function open(): Promise<void> {
    const opened = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString('utf8');
        const isExport = request.method === 'POST' && request.url === '/v1/traces';
        if (isExport) {
          bodies.push(body);
          spans.push(...spansOf(JSON.parse(body) as ExportRequest));
        }
        response.writeHead(isExport ? 200 : 404, { 'content-type': 'application/json' }).end('{}');
      });
    });
    await new Promise<void>((resolve) => opened.listen(port, '127.0.0.1', resolve));
    server = opened;
    port = (opened.address() as AddressInfo).port;
  }

  async function close(): Promise<void> {
    const closed = server;
    server = null;
    closed?.closeAllConnections();
    await new Promise<void>((resolve) => (closed === null ? resolve() : closed.close(() => resolve())));
  }

  await open();
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    /** Each request as it came. */
    bodies,
    open,
    close,
  };
}

function spansOf({ resourceSpans }: ExportRequest): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map(({ traceId, spanId, parentSpanId = '', name, attributes, links = [], status }) => ({
        service: String(valuesOf(resource.attributes)['service.name']),
        ...{ traceId, spanId, parentSpanId, name },
        attributes: valuesOf(attributes),
        links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
        failed: status?.code === FAILED,
      })),
    ),
  );
}

function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, arrayValue } }) => [
      key,
      stringValue ?? (intValue === undefined ? arrayValue?.values.map((one) => one.stringValue) : Number(intValue)),
    ]),
  );
}
