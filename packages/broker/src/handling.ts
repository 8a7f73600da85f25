import type { BrokerLog, Delivery, Handler } from './types.js';

/** Gives a delivery to whoever handles it. One that fails at it would fail again: it goes to the dead letters. */
export function handle(handler: Handler, delivery: Delivery, log: BrokerLog): void {
  const failed = (err: unknown): void => {
    log.error(
      { err, queue: delivery.queue, id: delivery.id },
      'the handler of a message failed: it goes to the dead letters',
    );
    delivery.reject().catch((err: unknown) => log.error({ err, id: delivery.id }, 'nor can it be rejected'));
  };
  try {
    Promise.resolve(handler(delivery)).catch(failed);
  } catch (error) {
    failed(error);
  }
}
