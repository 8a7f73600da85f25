/** Exits 0 when a RabbitMQ answers AMQP at the URL that is given, 1 when not. */
import { Connection } from 'rabbitmq-client';

const connection = new Connection({ url: process.argv[2], connectionTimeout: 3000 });
connection.on('error', () => {});
try {
  await connection.onConnect(3000);
} catch {
  process.exitCode = 1;
}
connection.unsafeDestroy();
