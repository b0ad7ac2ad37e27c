// Points on a canvas: by WebGL, which moves 100,000 of them smoothly, or else in 2D.

const VERTEX = `#version 300 es
uniform vec2 center; uniform vec2 stretch; uniform float size;
in vec2 place; in vec3 shade;
out vec3 tint;
void main() {
  gl_Position = vec4((place - center) * stretch, 0.0, 1.0);
  gl_PointSize = size;
  tint = shade;
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
uniform float opacity;
in vec3 tint;
out vec4 color;
void main() {
  float edge = length(gl_PointCoord - 0.5) * 2.0;
  float inside = opacity * (1.0 - smoothstep(0.75, 1.0, edge));
  color = vec4(tint * inside, inside);
}`;

/** Draws points; `view` is {x, y, scale}: the center of the picture, and pixels per unit. */
export class Points {
  constructor(canvas) {
    this.canvas = canvas;
    this.number = 0;
    this.gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true });
    if (this.gl) {
      this.prepare();
      canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
      canvas.addEventListener("webglcontextrestored", () => {
        this.prepare();
        if (this.data) this.set(...this.data);
        this.onRestored?.();
      });
    } else {
      this.flat = canvas.getContext("2d");
    }
  }

  prepare() {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    this.program = program;
    this.uniforms = Object.fromEntries(
      ["center", "stretch", "size", "opacity"].map((name) => [name, gl.getUniformLocation(program, name)]),
    );
    this.buffers = { place: gl.createBuffer(), shade: gl.createBuffer() };
  }

  /** Sets the coordinates (two Float32Arrays) and the color of each point (RGB triples). */
  set(x, y, shades) {
    this.data = [x, y, shades];
    this.number = x.length;
    if (!this.gl) return;
    const places = new Float32Array(2 * x.length);
    for (let i = 0; i < x.length; i++) {
      places[2 * i] = x[i];
      places[2 * i + 1] = y[i];
    }
    const { gl } = this;
    const fill = (name, data, size, kind, scaled) => {
      const at = gl.getAttribLocation(this.program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, size, kind, scaled, 0, 0);
    };
    fill("place", places, 2, gl.FLOAT, false);
    fill("shade", shades, 3, gl.UNSIGNED_BYTE, true);
  }

  /** Draws everything; `size` in CSS pixels, `ratio` is device pixels per CSS pixel. */
  draw(view, size, opacity, ratio) {
    const { width, height } = this.canvas;
    if (this.gl) {
      const { gl } = this;
      gl.viewport(0, 0, width, height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      if (!this.number) return;
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
      gl.useProgram(this.program);
      gl.uniform2f(this.uniforms.center, view.x, view.y);
      gl.uniform2f(this.uniforms.stretch, (2 * view.scale * ratio) / width, (2 * view.scale * ratio) / height);
      gl.uniform1f(this.uniforms.size, size * ratio);
      gl.uniform1f(this.uniforms.opacity, opacity);
      gl.drawArrays(gl.POINTS, 0, this.number);
      return;
    }
    const { flat } = this;
    flat.clearRect(0, 0, width, height);
    if (!this.number) return;
    const [x, y, shades] = this.data;
    const side = size * ratio;
    flat.globalAlpha = opacity;
    for (let i = 0; i < x.length; i++) {
      const left = (x[i] - view.x) * view.scale * ratio + width / 2;
      const top = height / 2 - (y[i] - view.y) * view.scale * ratio;
      if (left < -side || top < -side || left > width || top > height) continue;
      flat.fillStyle = `rgb(${shades[3 * i]} ${shades[3 * i + 1]} ${shades[3 * i + 2]})`;
      flat.fillRect(left - side / 2, top - side / 2, side, side);
    }
  }
}
