/** Messages over a socket, each a line of JSON; all that are sent in one turn of the event loop leave in one write. */
export function lines(socket, heard) {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (piece) => {
    const whole = (rest + piece).split('\n');
    rest = whole.pop();
    for (const line of whole) heard(JSON.parse(line));
  });
  let outgoing = '';
  return (message) => {
    if (outgoing === '') {
      setImmediate(() => {
        socket.write(outgoing);
        outgoing = '';
      });
    }
    outgoing += `${JSON.stringify(message)}\n`;
  };
}
