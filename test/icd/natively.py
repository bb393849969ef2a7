"""What PoCL answers to wrong inputs: compare() asks test/icd/wrong.c. Where PoCL answers otherwise than the specification says, and with it
the driver, a row of DIFFERENT says why. The specification's text decides: OpenCL 3.0, the lists of errors of each function."""
import re

VERSION = "PoCL 3.1"  # the rows are its answers
CRASHES, ABSENT, OBJECT = "crashes", "is not there", "returns an object"

# Why, the calls ("entry point; what is wrong", an expression), and what PoCL answers (an expression).
DIFFERENT = [
    # ---- the driver is stricter: PoCL does not look ----
    ("NULL is no context, queue or object of OpenGL; PoCL's functions for OpenGL abort", r"cl(CreateFromGLBuffer|CreateFromGLRenderbuffer|GetGL\w+); .*",
     CRASHES),
    ("CL_INVALID_COMMAND_QUEUE, CL_INVALID_KERNEL: PoCL reads the handle before it looks", r"clEnqueue(NDRangeKernel|Task); NULL( as parameter 2)?", CRASHES),
    ("CL_INVALID_MEM_OBJECT: PoCL reads the handle before it looks", r"clEnqueueCopyBufferRect; NULL as parameter [23]", CRASHES),
    ("CL_INVALID_PROGRAM: PoCL reads the handle before it looks", r"clLinkProgram; NULL as parameter 6", CRASHES),
    ("CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: PoCL does not look at the wait lists of launches",
     r"clEnqueue(NDRangeKernel|Task); (NULL as parameter [48]|a handle of another context as parameter [48]|a number without a list|a list with the number 0)",
     rf"0|{CRASHES}"),
    ("CL_INVALID_VALUE: PoCL reads a list that is NULL", r"clCreateProgramWith(Source; a number without a list|Binary; no binaries)", CRASHES),
    ("CL_INVALID_VALUE: PoCL reads a list that is NULL", r"clCompileProgram; headers without names", CRASHES),
    ("CL_INVALID_QUEUE_PROPERTIES: PoCL aborts for queues on the device", r"clCreateCommandQueueWithProperties; a queue on the device", CRASHES),
    ("CL_INVALID_DEVICE_TYPE: PoCL has no device of this type", r"clGetDeviceIDs; (no|an unknown) type", "-1"),
    ("CL_INVALID_DEVICE_TYPE: PoCL makes a context without devices", r"clCreateContextFromType; no type", OBJECT),
    ("CL_INVALID_VALUE: PoCL does not compare the flags", r"clCreateSubBuffer; to be read only and written only", OBJECT),
    ("CL_INVALID_VALUE: PoCL does not look at the flags", r"clEnqueueMapBuffer; (an unknown flag|reading what is invalid)", OBJECT),
    ("CL_INVALID_VALUE: PoCL does not look at the flags", r"clGetSupportedImageFormats; an unknown flag", "0"),
    ("CL_INVALID_WORK_GROUP_SIZE: PoCL takes a size of 0 for one that it may choose", r"clEnqueueNDRangeKernel; work-groups without work-items", "0"),
    ("CL_INVALID_MEM_OBJECT: a buffer is no image", r"clGetImageInfo; a buffer", "0"),
    ("CL_INVALID_SAMPLER: PoCL takes any handle for a sampler", r"cl\w+Sampler(Info)?; a buffer", "0"),
    # ---- the name of the error ----
    ("CL_INVALID_EVENT: PoCL names the queue of the event, which it looks for first", r"clGetEvent(Profiling)?Info; NULL", "-36"),
    ("CL_INVALID_CONTEXT: PoCL names a queue", r"clGetContextInfo; NULL", "-36"),
    ("a wait list's error: PoCL looks whether the boxes overlap first, which they do",
     r"clEnqueueCopyBufferRect; (NULL|a handle of another context) as parameter 12", "-8"),
    ("CL_INVALID_EVENT, CL_INVALID_VALUE: PoCL does not have clEnqueueWaitForEvents, of OpenCL 1.1", r"clEnqueueWaitForEvents; .*", "-57"),
    # ---- two errors at once: either may be named ----
    ("the size is 0, too", r"clCreateBuffer(WithProperties)?; NULL", "-61"),
    ("the name is NULL, too", r"clCreateKernel; NULL", "-30"),
    ("the list of properties is NULL, too", r"clCreateSamplerWithProperties; NULL", "-30"),
    ("the device has no such feature, too", r"cl(GetDeviceAndHostTimer|GetHostTimer|SetDefaultDeviceCommandQueue|SetProgramReleaseCallback); NULL", "-59"),
    ("there are no events of OpenGL, too", r"clEnqueue(Acquire|Release)GLObjects; .*", "-34"),
    ("the program has kernels, too", r"cl(Build|Compile)Program; (NULL as parameter [36]|a number without a list|a list with the number 0)", "-59"),
    ("the program was not compiled, too", r"clLinkProgram; (NULL as parameter 3|an argument without a function)", "-59"),
    ("its origin does not suit any device, too", r"clCreateSubBuffer; a region that begins outside", "-13"),
    ("a work-group is also larger than any may be", r"clEnqueueNDRangeKernel; work-groups that are too large", "-54"),
    ("there is no information about arguments, too", r"clGetKernelArgInfo; (an unknown property|too little place for the answer)", "-19"),
    # ---- features ----
    ("PoCL has images, samplers and shared virtual memory: it looks at the other parameters, which are 0",
     r"cl(\w*Image\w*|CreateSampler\w*|EnqueueSVM\w+|SetKernelArgSVMPointer|SetKernelExecInfo|EnqueueNativeKernel|CreateProgramWithIL"
     r"|SetProgramSpecializationConstant); a feature that is not there", rf"0|-30|-38|-39|-44|{OBJECT}"),
    ("PoCL's table has no such entry",
     r"cl(SetCommandQueueProperty|CreateSubDevicesEXT|\w+GLsyncKHR|\w*EGL\w+|GetKernelSubGroupInfoKHR|\w*D3D1[01]\w*|\w*DX9\w*); .*", ABSENT),
]


def compare(lines):
    """@param lines  what `wrong compared` prints natively. @return a sentence; and what is wrong: answers that no row explains, and rows
    that explain none."""
    if VERSION not in lines[0]:
        return f"wrong inputs are not compared with {lines[0]}, but with {VERSION}", []
    wrong, used = [], set()
    for line in lines[1:-1]:
        entry, what, _, found = line.split("; ")
        rows = [row for row in DIFFERENT if re.fullmatch(row[1], f"{entry}; {what}") and re.fullmatch(row[2], found)]
        used.update(rows)
        if not rows:
            wrong.append(line)
    wrong += [f"no answer is explained by: {row[0]}: {row[1]}" for row in DIFFERENT if row not in used]
    tried, different = (int(word) for word in re.findall(r"\d+", lines[-1]))
    return f"{tried} wrong inputs natively: {tried - different} answers are the specification's, {different} others are explained", wrong
