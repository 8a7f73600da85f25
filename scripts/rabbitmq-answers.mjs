/** Exits 0 when a RabbitMQ with its STOMP plugin answers on this machine, 1 when not. */
import { connect } from 'node:net';

const socket = connect(61_613, '127.0.0.1');
let answer = '';
socket.setTimeout(3000, () => socket.destroy());
socket.on('connect', () => socket.write('CONNECT\naccept-version:1.2\nhost:/\nlogin:guest\npasscode:guest\n\n\0'));
socket.on('data', (bytes) => {
  answer += bytes.toString('latin1');
  if (answer.includes('\0')) socket.destroy();
});
socket.on('error', () => {});
socket.on('close', () => {
  // Muster's own server listens on the same port by default.
  process.exitCode = answer.startsWith('CONNECTED') && answer.includes('server:RabbitMQ') ? 0 : 1;
});
